// The refinements of the service: how they come to be, wait for devices, and end.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/jobs/frame_spool.h"
#include "server/jobs/job_table.h"
#include "server/pipeline/acquisition_request.h"
#include "server/pipeline/refinement_job.h"
#include "server/pipeline/request_decoders.h"
#include "server/pipeline/run_maker.h"
#include "server/scheduler/scheduler.h"

namespace isocenter::pipeline {

/// What refinements work with; all of it outlives them.
struct RefinementsEnvironment {
  scheduler::Scheduler& scheduler;
  jobs::JobTable& table;
  jobs::FrameSpool& spool;
  jobs::ResultStore& results;
  jobs::JobObserver& observer;
  RunMaker& runs;
  RunKeeper& keeper;
  scheduler::LaneExecutor& exporter;
  /// A refinement waits for a run, or what others wait for may be free: somebody calls StartWaiting
  /// and EndOverdue soon. From any thread.
  std::function<void()> changed;
};

/// Keeps active refinements until they have ended, and the frames that they use in the spool.
/// Thread-safe.
class Refinements {
 public:
  Refinements(RefinementsEnvironment environment, RequestDecoders decoders)
      : environment_(std::move(environment)), decoders_(std::move(decoders)) {}
  /// Nothing is active any more.
  ~Refinements() = default;

  using Done = std::function<void(absl::StatusOr<jobs::JobSnapshot>)>;
  /// Refines a completed job, as a job of its own; opens its frames on a thread of its own and
  /// calls `done` there. Errors: NOT_FOUND, FAILED_PRECONDITION (not completed; no frames of its
  /// own, or no longer), INVALID_ARGUMENT (the request id belongs to another request), DATA_LOSS,
  /// UNAVAILABLE (stopping), those of the job store.
  void Refine(const std::string& source_id, RefinementRequest request, Done done);

  /// What the protocol of an acquisition asks for, when its volume is stored and before it is
  /// COMPLETED: whatever happens then, there is exactly one such refinement. It begins when the
  /// source is completed. Without effect where it exists already. Errors: the job store's.
  absl::Status Follow(const jobs::Job& source, const jobs::StoredSeries& stored,
                      const AcquisitionRequest& request, std::shared_ptr<jobs::JobSpool> spool);

  /// Goes on with a refinement that was active when the service stopped.
  void Recover(const jobs::Job& job);

  /// Looks for a place for every refinement that has none. By the thread that makes runs.
  void StartWaiting();
  /// Ends those whose deadline passes before they get a place; returns the next such deadline.
  absl::Time EndOverdue();
  /// Takes the runs from lost slots; their jobs wait again.
  void ReplaceLostRuns();
  /// Takes the run from the least urgent refinement, which waits again, and waits until its memory
  /// is free: at most for the unit that runs. False: none has a run that computes.
  bool YieldOne();

  /// Null: it is not active.
  std::shared_ptr<RefinementJob> Find(const std::string& job_id) const;

  /// The acquisition has ended and needs its frames no longer: they are released, now or when the
  /// last refinement that uses them has ended.
  void ReleaseFrames(const std::string& job_id);

  /// From now on Refine is UNAVAILABLE. Returns when nothing is being made.
  void Stop();
  /// Lets go of those that wait for a place, or of all, without ending them.
  void SuspendWaiting();
  void SuspendAll();
  /// Whether none was active, and no run being freed, before `deadline`.
  bool AwaitNone(absl::Time deadline) const;

 private:
  absl::StatusOr<jobs::JobSnapshot> RefineNow(const std::string& source_id,
                                              RefinementRequest request);
  absl::StatusOr<RefinementInput> OpenInput(const std::string& source_id);
  /// Stores the job's record and keeps the job.
  absl::StatusOr<jobs::JobSnapshot> Add(jobs::Job job, RefinementRequest request,
                                        RefinementInput input);
  std::shared_ptr<RefinementJob> MakeJob(const jobs::Job& job, RefinementRequest request);
  absl::Status CompleteStored(const jobs::Job& job, const jobs::StoredSeries& stored);
  void FailRecord(const jobs::Job& job, const absl::Status& why);
  /// Whether the source is completed; fails the refinement when it will never be.
  bool SourceIsCompleted(RefinementJob& job);
  /// Frees a run that was dropped, and calls `freed`.
  void Free(std::shared_ptr<RefinementRun> run, std::function<void()> freed);
  void OnEnded(RefinementJob& job);
  std::vector<std::shared_ptr<RefinementJob>> Active() const;

  void Use(const std::string& source_id) ABSL_LOCKS_EXCLUDED(uses_mutex_);
  void EndUse(const std::string& source_id) ABSL_LOCKS_EXCLUDED(uses_mutex_);

  const RefinementsEnvironment environment_;
  const RequestDecoders decoders_;

  absl::Mutex uses_mutex_;
  /// Refinements of each source's frames, which are not released before.
  std::map<std::string, int> uses_ ABSL_GUARDED_BY(uses_mutex_);

  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int runs_being_freed_ ABSL_GUARDED_BY(mutex_) = 0;  // that were dropped
  std::map<std::string, std::shared_ptr<RefinementJob>> active_ ABSL_GUARDED_BY(mutex_);

  /// Opening a spooled job reads all of its frames. Last: its thread ends first.
  scheduler::LaneExecutor opener_{"iso-refine"};
  const std::shared_ptr<scheduler::LaneExecutor::Lane> opening_ = opener_.NewLane();
};

}  // namespace isocenter::pipeline
