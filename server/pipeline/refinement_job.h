// The path of one refinement: frames of another job, iterations, volume, stored result.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/jobs/frame_spool.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/pipeline/frame_ledger.h"
#include "server/pipeline/refinement_request.h"
#include "server/pipeline/refinement_run.h"
#include "server/pipeline/run_keeper.h"
#include "server/scheduler/lane_executor.h"

namespace isocenter::pipeline {

class RefinementJob;

/// What a refinement works with; all of it outlives the job.
struct RefinementEnvironment {
  jobs::JobTable& table;
  jobs::ResultStore& results;
  jobs::JobObserver& observer;
  RunKeeper& keeper;
  scheduler::LaneExecutor& exporter;
  /// The job has ended or is suspended, and its memory is free. Once, from any thread.
  std::function<void(RefinementJob& job)> ended;
};

/// The frames that are refined, as their own job left them.
struct RefinementInput {
  std::shared_ptr<jobs::JobSpool> spool;
  recon::Acquisition acquisition;
  jobs::MissingFrames missing_frames;
};

/// One job that refines another one's volume. It waits until it gets a run, which it drives unit by
/// unit in the slot's lane, so that more urgent jobs go in between. Thread-safe. The job keeps
/// itself alive while work of it is under way.
class RefinementJob : public std::enable_shared_from_this<RefinementJob> {
 public:
  /// `job` as the table has it.
  RefinementJob(const jobs::Job& job, RefinementRequest request, RefinementEnvironment environment);

  const std::string& id() const { return id_; }
  /// Whose frames it uses.
  const std::string& source_id() const { return source_id_; }
  const RefinementRequest& request() const { return request_; }
  const VolumeGrid& grid() const { return grid_; }
  scheduler::Urgency urgency() const { return urgency_; }

  /// Once, before it gets a run. Errors: DATA_LOSS (frames are neither there nor given up).
  absl::Status SetInput(RefinementInput input);
  /// What a run is made for; null before SetInput. Valid as long as the job.
  const recon::Acquisition* acquisition() const;
  /// Whether it has its input, has not ended, and has no run.
  bool waits() const;

  /// Begins to compute, from the first frame. Without effect when the job has ended.
  void StartRun(std::shared_ptr<RefinementRun> run);
  /// Takes the run from the job. Null: it has none, has ended, or its volume is complete.
  std::shared_ptr<RefinementRun> DropRun();
  /// The run that computes now, or null.
  std::shared_ptr<RefinementRun> run() const;

  /// Ends the job when it has no run and its deadline has passed; else returns its deadline while
  /// it has no run, and InfiniteFuture.
  absl::Time EndIfOverdue(absl::Time now);
  /// Ends the job as CANCELLED. While the result is being written, a moment later, and it may still
  /// complete.
  void Cancel(const absl::Status& why);
  /// Ends the job as FAILED, unless it has ended or is being stored.
  void Fail(const absl::Status& why);
  /// Lets go of the job without ending it: the next start of the service begins it again.
  void Suspend();
  /// Tells the client and the operators.
  void Warn(jobs::JobWarning warning);

 private:
  void Submit(const std::shared_ptr<RefinementRun>& run);
  void Work(const std::shared_ptr<RefinementRun>& run);
  /// Before the first step of an iteration, once.
  void EnterRefining();
  /// Tells what has been done, at intervals or `at_once`.
  void PublishProgress(RefinementRun& run, bool at_once);
  void FinishVolume(const std::shared_ptr<RefinementRun>& run, bool all_done);
  void StoreVolume(const std::shared_ptr<RefinementRun>& run);
  absl::StatusOr<jobs::StoredSeries> Store(RefinementRun& run);
  void OnRunFailed(const std::shared_ptr<RefinementRun>& run, const absl::Status& why);
  bool IsCurrent(const std::shared_ptr<RefinementRun>& run) const;
  /// Whether the caller is the one who ends the job, which is not being stored.
  bool ClaimEnd();
  /// Logs what the table could not save.
  void PublishEnd(jobs::JobState state, const absl::Status& why,
                  const std::function<void(jobs::Job&)>& change = nullptr);
  void FreeMemory();

  const std::string id_, source_id_;
  const RefinementRequest request_;
  const VolumeGrid grid_;
  const RefinementEnvironment environment_;
  const absl::Time accepted_time_;
  const scheduler::Urgency urgency_;
  const std::shared_ptr<scheduler::LaneExecutor::Lane> export_;

  std::atomic<bool> cancel_requested_{false};  // read between slices of the export

  mutable absl::Mutex mutex_;
  bool refining_ ABSL_GUARDED_BY(mutex_) = false;  // the state has been published
  absl::Time last_progress_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::unique_ptr<const RefinementInput> input_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<const FrameLedger> ledger_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<RefinementRun> run_ ABSL_GUARDED_BY(mutex_);
  bool storing_ ABSL_GUARDED_BY(mutex_) = false;  // the exporter is at work, or will be
  bool export_begun_ ABSL_GUARDED_BY(mutex_) = false;
  bool suspended_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_reason_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::pipeline
