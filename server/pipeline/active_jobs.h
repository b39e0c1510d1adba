// The jobs that have not ended, of every kind.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/pipeline/active_job.h"
#include "server/pipeline/runs/run_maker.h"

namespace isocenter::pipeline {

/// Keeps jobs from when they are admitted until they have ended or are suspended, and their memory
/// is free. Thread-safe.
class ActiveJobs {
 public:
  /// `deadline_set` is called when EndOverdue is due earlier than before, `run_taken` when a job
  /// that computed waits again: from any thread.
  ActiveJobs(std::function<void()> deadline_set, std::function<void()> run_taken)
      : deadline_set_(std::move(deadline_set)), run_taken_(std::move(run_taken)) {}

  void Add(std::shared_ptr<ActiveJob> job);
  /// The last owner of the job may be the caller.
  void Remove(const std::string& id);

  /// A job of this kind; null: none is active.
  template <class Kind = ActiveJob>
  std::shared_ptr<Kind> Find(const std::string& id) const {
    absl::MutexLock lock(&mutex_);
    const auto found = jobs_.find(id);
    return found == jobs_.end() ? nullptr : std::dynamic_pointer_cast<Kind>(found->second);
  }
  /// The oldest first.
  template <class Kind = ActiveJob>
  std::vector<std::shared_ptr<Kind>> All() const {
    std::vector<std::shared_ptr<Kind>> all;
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, job] : jobs_) {
      if (auto kind = std::dynamic_pointer_cast<Kind>(job)) all.push_back(std::move(kind));
    }
    return all;
  }

  /// Looks for a run for every job that waits, acquisitions first. By the thread that makes runs.
  void StartWaiting(RunMaker& runs) const;
  /// Returns when the next one will be overdue.
  absl::Time EndOverdue() const;
  /// The exporter comes again to jobs that wait for room on the disk; when draining, they are let
  /// go of. Returns when the next one is due.
  absl::Time StoreAgain() const;
  /// How many there are.
  int WaitingForRoom() const;
  /// Takes the runs from lost slots; their jobs wait again.
  void ReplaceLostRuns(const RunMaker& runs, jobs::JobObserver& observer);
  /// Takes the run from the least urgent job that gives way, which waits again, and waits until its
  /// memory is free: at most for the unit that runs. False: none has a run that computes.
  bool YieldOne();

  /// From now on the service does not begin what gives way: the next start does.
  void Drain();
  bool draining() const;
  /// Lets go of the jobs that wait for a run.
  void SuspendWaiting() const;
  /// Lets go of all jobs without ending them, and of those that are added from now on.
  void SuspendAll();

  /// Work that may add a job, or that a job has left behind: nothing is idle while it exists. It
  /// goes before the container.
  std::shared_ptr<const void> BeginErrand();
  /// Whether no job of this kind was active before `deadline`.
  template <class Kind>
  bool AwaitNone(absl::Time deadline) const {
    absl::MutexLock lock(&mutex_);
    const auto none = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return std::ranges::none_of(jobs_, [](const auto& entry) {
        return dynamic_cast<const Kind*>(entry.second.get()) != nullptr;
      });
    };
    return mutex_.AwaitWithDeadline(absl::Condition(&none), deadline);
  }
  /// Whether no job was active, and no errand under way, before `deadline`.
  bool AwaitIdle(absl::Time deadline) const;

 private:
  enum class Mode { kOpen, kDraining, kSuspended };

  /// The most urgent first, those that give way last.
  std::vector<std::shared_ptr<ActiveJob>> ByUrgency() const;
  /// Takes this run from the job, frees it and calls `freed`. False as DropRun.
  bool TakeRun(ActiveJob& job, std::shared_ptr<Run> run, std::function<void()> freed);

  const std::function<void()> deadline_set_, run_taken_;
  mutable absl::Mutex mutex_;
  Mode mode_ ABSL_GUARDED_BY(mutex_) = Mode::kOpen;
  int errands_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::shared_ptr<ActiveJob>> jobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::pipeline
