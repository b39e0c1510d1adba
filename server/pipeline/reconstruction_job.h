// The path of one job: frames, spool, chunks, volume, stored result.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/jobs/frame_spool.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/pipeline/acquisition_request.h"
#include "server/pipeline/frame_ledger.h"
#include "server/pipeline/frame_monitor.h"
#include "server/pipeline/reconstruction_run.h"
#include "server/pipeline/run_keeper.h"
#include "server/scheduler/lane_executor.h"

namespace isocenter::pipeline {

class ReconstructionJob;

/// Where a job's frames come from: the stream of a console. Called from any thread; must be quick.
class FrameProducer {
 public:
  virtual ~FrameProducer() = default;
  /// AddFrame had answered "no room", and there is room again.
  virtual void OnRoom() = 0;
  /// The job takes nothing more from this producer. ABORTED: another one has taken over. DATA_LOSS:
  /// a frame was damaged on its way and is to be sent again. UNAVAILABLE: the service stops.
  virtual void OnRefused(const absl::Status& why) = 0;
};

/// Who keeps the jobs. Called from any thread.
class JobKeeper : public RunKeeper {
 public:
  /// The first frame is in the spool. Once for each start of the service.
  virtual void OnFirstFrame(ReconstructionJob& job) = 0;
  /// Calls `then` when it is known, as far as it ever will be, whose volume the job's is: now, or
  /// from another thread.
  virtual void WhenIdentified(ReconstructionJob& job, std::function<void()> then) = 0;
  /// The job's console has gone; see console_deadline.
  virtual void OnConsoleLeft() = 0;
  /// The job's volume is stored; next it is COMPLETED.
  virtual void OnStored(ReconstructionJob& job, const jobs::StoredSeries& stored) = 0;
  /// The job has ended or is suspended, and its memory is free. Once.
  virtual void OnJobEnded(ReconstructionJob& job) = 0;
};

/// What a job works with; all of it outlives the job.
struct JobEnvironment {
  jobs::JobTable& table;
  jobs::ResultStore& results;
  jobs::JobObserver& observer;
  JobKeeper& keeper;
  scheduler::LaneExecutor& exporter;
  absl::Duration reconnect_limit;  // how long a job waits for its console
};

/// One admitted acquisition. Frames go into the spool as they come, whatever the devices do; chunks
/// of them are read back and computed when their turn comes. Thread-safe. The job keeps itself
/// alive while work of it is under way.
class ReconstructionJob : public std::enable_shared_from_this<ReconstructionJob> {
 public:
  ReconstructionJob(std::string id, AcquisitionRequest request, VolumeGrid grid,
                    std::shared_ptr<jobs::JobSpool> spool, const JobEnvironment& environment);

  const std::string& id() const { return id_; }
  const AcquisitionRequest& request() const { return request_; }
  const VolumeGrid& grid() const { return grid_; }
  const std::shared_ptr<jobs::JobSpool>& spool() const { return spool_; }
  int frames() const { return static_cast<int>(request_.acquisition.trajectory.size()); }
  scheduler::Urgency urgency() const { return urgency_; }

  /// Begins to compute, from the first frame. Without effect when the job has ended.
  void StartRun(std::shared_ptr<ReconstructionRun> run);
  /// Takes the run from the job, which ends if it was to be cancelled or suspended. Null: it has
  /// none, it has ended, or its volume is complete.
  std::shared_ptr<ReconstructionRun> DropRun();
  /// The run that computes now, or null.
  std::shared_ptr<ReconstructionRun> run() const;

  /// A stream begins; the one before, if any, is refused. Returns the number that AddFrame wants.
  /// Errors: that with which the job has ended.
  absl::StatusOr<int64_t> Attach(std::weak_ptr<FrameProducer> producer);
  /// Checks a frame and sends it to the spool. True when there is room for the next, false when the
  /// caller must wait for OnRoom. An error ends the stream; INVALID_ARGUMENT the job, too. Errors,
  /// each naming the value and what is legal: INVALID_ARGUMENT (index, payload, measured matrix),
  /// FAILED_PRECONDITION (after the end of input), ABORTED (not the newest stream), that with which
  /// the job has ended.
  absl::StatusOr<bool> AddFrame(int64_t stream, Frame frame);
  /// The console has sent all. What is missing is given up or ends the job, as the protocol says.
  absl::Status FinishInput(int64_t stream);
  /// The console has gone. The job waits for another stream until console_deadline.
  void Detach(int64_t stream);
  /// The console is at fault: ends the job as FAILED, unless it has sent all.
  void Reject(int64_t stream, const absl::Status& why);

  /// Frames at the beginning that are in the spool (or given up), and those beyond the first that
  /// is missing.
  struct Input {
    int present = 0;
    int lost = 0;
    int prefix = 0;
    std::vector<FrameRange> beyond;
  };
  Input input() const;
  /// Until when the job waits for its console; InfiniteFuture while it does not.
  absl::Time console_deadline() const;
  /// The console did not come back in time.
  void GiveUpConsole();

  /// Ends the job as CANCELLED. While the result is being written, the job ends a moment later, and
  /// may still complete.
  void Cancel(const absl::Status& why);
  /// Ends the job as FAILED, unless it has ended or is being stored.
  void Fail(const absl::Status& why);
  /// Tells the console and the operators.
  void Warn(jobs::JobWarning warning);
  /// Lets go of the job without ending it: the next start of the service goes on with it.
  void Suspend();

 private:
  absl::Status CheckFrame(const Frame& frame) const;
  void OnAppended(int64_t stream, int index, absl::Time came, const absl::Status& status);
  /// The spool is done with a frame.
  void EndCallback();
  /// Records frames as lost. Errors: the spool's.
  absl::Status GiveUp(const std::vector<int>& indices);
  /// The end of input was announced, or all frames are here: nothing more will be waited for.
  void CloseInput();
  /// Nobody sees a later state before this one. Once.
  void EnterReconstructing();

  void Schedule();
  using Sources = std::vector<ViewSource>;
  void ComputeChunk(const std::shared_ptr<ReconstructionRun>& run, const Sources& sources);
  absl::Status TryChunk(ReconstructionRun& run, const Sources& sources);
  void FinishVolume(const std::shared_ptr<ReconstructionRun>& run, bool first);
  void CompleteVolume(const std::shared_ptr<ReconstructionRun>& run);
  /// Between the first and the last frame that came in this process.
  double AcquisitionSeconds() const;
  void StoreVolume(const std::shared_ptr<ReconstructionRun>& run);
  absl::StatusOr<jobs::StoredSeries> Store(ReconstructionRun& run);
  /// A step of the run has failed.
  void OnRunFailed(const std::shared_ptr<ReconstructionRun>& run, const absl::Status& why);
  bool IsCurrent(const std::shared_ptr<ReconstructionRun>& run) const;

  enum class Ending { kByAnyone, kByExporter };
  /// Whether the caller is the one who ends the job. Once the volume is being stored that is the
  /// exporter alone.
  bool ClaimEnd(const absl::Status& why, Ending ending);
  /// Publishes the final state and frees the memory.
  void PublishEnd(jobs::JobState state, const absl::Status& why,
                  const std::function<void(jobs::Job&)>& change = nullptr);
  void PublishState(jobs::JobState state, const absl::Status& why,
                    const std::function<void(jobs::Job&)>& change = nullptr);
  /// As soon as nobody uses it.
  void FreeMemory();
  absl::Status EndStatusLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string id_;
  const AcquisitionRequest request_;
  const VolumeGrid grid_;
  const std::shared_ptr<jobs::JobSpool> spool_;
  const JobEnvironment environment_;
  const absl::Time accepted_time_;
  const scheduler::Urgency urgency_;
  const std::shared_ptr<scheduler::LaneExecutor::Lane> export_;

  std::atomic<bool> cancel_requested_{false};  // read between slices of the export
  absl::once_flag reconstructing_;

  absl::Mutex monitor_mutex_;
  FrameMonitor monitor_ ABSL_GUARDED_BY(monitor_mutex_);

  mutable absl::Mutex mutex_;
  FrameLedger ledger_ ABSL_GUARDED_BY(mutex_);
  int64_t stream_ ABSL_GUARDED_BY(mutex_) = 0;  // of the newest
  std::weak_ptr<FrameProducer> producer_ ABSL_GUARDED_BY(mutex_);
  int appends_ ABSL_GUARDED_BY(mutex_) = 0;
  int callbacks_ ABSL_GUARDED_BY(mutex_) = 0;  // of the spool that have not ended
  bool frees_after_callbacks_ ABSL_GUARDED_BY(mutex_) = false;
  bool producer_waits_ ABSL_GUARDED_BY(mutex_) = false;
  bool began_ ABSL_GUARDED_BY(mutex_) = false;  // the keeper knows of the first frame
  bool finish_announced_ ABSL_GUARDED_BY(mutex_) = false;
  bool input_closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time console_deadline_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  absl::Time first_frame_time_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  absl::Time last_frame_time_ ABSL_GUARDED_BY(mutex_);

  std::shared_ptr<ReconstructionRun> run_ ABSL_GUARDED_BY(mutex_);
  size_t chunks_scheduled_ ABSL_GUARDED_BY(mutex_) = 0;  // of run_

  bool volume_complete_ ABSL_GUARDED_BY(mutex_) = false;
  // The exporter is at work, or waits for slices; or the job waits for it, or to be identified.
  bool storing_ ABSL_GUARDED_BY(mutex_) = false;
  bool export_begun_ ABSL_GUARDED_BY(mutex_) = false;  // storing_, and not waiting for its turn
  bool suspended_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_reason_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::pipeline
