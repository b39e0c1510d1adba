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

/// Host memory of one job: for frames on their way to the device, and for the finished volume.
struct HostBuffers {
  ChunkAssembler::Memory frames;
  std::unique_ptr<ops::HostMemory> volume;
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
                    std::unique_ptr<recon::Reconstructor> reconstructor, HostBuffers buffers,
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

  /// No more frames will come, because the console is gone, silent or at fault. Ends the job as
  /// FAILED or CANCELLED with `why`, unless all frames are here; then the reconstruction goes on.
  void AbandonInput(jobs::JobState state, const absl::Status& why);

  /// Ends the job as CANCELLED. While the result is being stored, the job ends a moment later, and
  /// may still complete.
  void Cancel(const absl::Status& why);

 private:
  void SubmitChunk(std::unique_ptr<ChunkBuffer> buffer);
  absl::Status ProcessChunk(std::unique_ptr<ChunkBuffer> buffer);
  absl::Status CompleteVolume();
  void StoreVolume();
  absl::StatusOr<jobs::StoredSeries> Store();
  void EnterReconstructing();
  HostView3<float> Volume() const {
    return {reinterpret_cast<float*>(hounsfield_->data()), plan_->grid.shape()};
  }

  /// Ends the job as FAILED, unless it has ended or is being stored.
  void Fail(const absl::Status& why);
  /// Whether the caller is the one who ends the job. Once the volume is being stored that is the
  /// exporter alone.
  bool ClaimEnd(const absl::Status& why, bool by_exporter);
  /// Publishes the final state and has the slot's thread free the memory.
  void PublishEnd(jobs::JobState state, const absl::Status& why,
                  const std::function<void(jobs::Job&)>& change = nullptr);
  bool has_ended() const { return ended_.load(std::memory_order_acquire); }
  absl::Status EndStatus() const;

  const std::string id_;
  const JobEnvironment environment_;
  const std::unique_ptr<const recon::ReconstructionPlan> plan_;
  const std::function<void()> room_;
  const std::function<void()> on_ended_;
  const std::shared_ptr<scheduler::LaneExecutor::Lane> chunks_;
  const std::shared_ptr<scheduler::LaneExecutor::Lane> export_;
  const absl::Time accepted_time_;
  ChunkAssembler assembler_;

  std::atomic<bool> ended_{false};             // written under mutex_
  std::atomic<bool> cancel_requested_{false};  // read between slices of the export
  absl::once_flag all_received_;

  absl::Mutex input_mutex_;  // held while a frame is taken over
  absl::Time first_frame_time_ ABSL_GUARDED_BY(input_mutex_);

  mutable absl::Mutex mutex_;
  bool exporting_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_reason_ ABSL_GUARDED_BY(mutex_);
  absl::Time last_frame_time_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  double acquisition_seconds_ ABSL_GUARDED_BY(mutex_) = 0;

  // Of the slot's thread, then of the exporter's.
  scheduler::Admission admission_;
  std::unique_ptr<recon::Reconstructor> reconstructor_;
  std::unique_ptr<ops::HostMemory> hounsfield_;
};

}  // namespace isocenter::pipeline
