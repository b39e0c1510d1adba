// The path of one job: frames, chunks, volume, stored result.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/call_once.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/plan.h"
#include "kernels/recon/reconstructor.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/pipeline/acquisition_request.h"
#include "server/pipeline/chunk_assembler.h"
#include "server/scheduler/scheduler.h"

namespace isocenter::pipeline {

/// What a job works with; all of it outlives the job.
struct JobEnvironment {
  jobs::JobTable& table;
  jobs::ResultStore& results;
  jobs::JobObserver& observer;
  scheduler::DeviceSlot& slot;
  scheduler::LaneExecutor& exporter;
};

/// One admitted acquisition. Three threads meet here: the producer's (AddFrame, one call at a
/// time), the slot's (chunks) and the exporter's; Cancel may come from any. The job keeps itself
/// alive while work of it is queued.
class ReconstructionJob : public std::enable_shared_from_this<ReconstructionJob> {
 public:
  /// `room` is called, from any thread, when AddFrame had answered "no room" and there is room
  /// again. `ended` is called once, when the job has reached its final state and its memory is
  /// free.
  ReconstructionJob(std::string id, JobEnvironment environment, scheduler::Admission admission,
                    std::unique_ptr<const recon::ReconstructionPlan> plan,
                    std::unique_ptr<recon::Reconstructor> reconstructor,
                    std::function<void()> room, std::function<void()> ended);

  const std::string& id() const { return id_; }
  const recon::ReconstructionPlan& plan() const { return *plan_; }

  /// Takes a frame over. True when there is room for the next, false when the caller must wait for
  /// `room`. An error ends the job. Errors: those of ChunkAssembler::Add; that with which the job
  /// has ended already.
  absl::StatusOr<bool> AddFrame(const Frame& frame);

  /// The console says that it has sent all. Errors: FAILED_PRECONDITION (frames are missing; the
  /// job has failed with it).
  absl::Status FinishInput();

  /// The console is gone or silent. Ends the job with `why` as CANCELLED unless all frames are
  /// here; then the reconstruction goes on.
  void Abandon(const absl::Status& why);

  /// Ends the job as FAILED unless it has ended.
  void Fail(const absl::Status& why) { End(jobs::JobState::kFailed, why); }

  /// Ends the job as CANCELLED. While the result is being stored, the job ends a moment later, and
  /// may still complete.
  void Cancel(const absl::Status& why);

 private:
  void SubmitChunk(std::unique_ptr<ChunkBuffer> buffer);
  void ProcessChunk(std::unique_ptr<ChunkBuffer> buffer);
  absl::Status CompleteVolume();
  void StoreVolume();
  void EnterReconstructing();
  /// The first call wins and frees the memory once the slot's thread is done with it.
  void End(jobs::JobState state, const absl::Status& why);
  void FreeMemory();
  bool has_ended() const { return ended_.load(std::memory_order_acquire); }
  absl::Status EndStatus() const;
  void SetTimings(jobs::Job& job) const;

  const std::string id_;
  JobEnvironment environment_;
  scheduler::Admission admission_;
  const std::unique_ptr<const recon::ReconstructionPlan> plan_;
  const std::function<void()> room_;
  const std::function<void()> on_ended_;
  const std::shared_ptr<scheduler::LaneExecutor::Lane> chunks_;
  const std::shared_ptr<scheduler::LaneExecutor::Lane> export_;
  const absl::Time accepted_time_;

  std::atomic<bool> ended_{false};
  std::atomic<bool> cancel_requested_{false};  // read between slices of the export
  absl::once_flag all_received_;

  absl::Mutex input_mutex_;  // held while a frame is taken over
  std::unique_ptr<ChunkAssembler> assembler_ ABSL_GUARDED_BY(input_mutex_);
  absl::Time first_frame_time_ ABSL_GUARDED_BY(input_mutex_);

  mutable absl::Mutex mutex_;
  bool exporting_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status cancel_reason_ ABSL_GUARDED_BY(mutex_);
  absl::Time last_frame_time_ ABSL_GUARDED_BY(mutex_);
  double acquisition_seconds_ ABSL_GUARDED_BY(mutex_) = 0;

  // Of the slot's thread, then of the exporter's.
  std::unique_ptr<recon::Reconstructor> reconstructor_;
  std::unique_ptr<float[]> hounsfield_;
};

}  // namespace isocenter::pipeline
