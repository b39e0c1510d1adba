#include "server/pipeline/active_jobs.h"

#include <tuple>
#include <utility>

#include "absl/synchronization/notification.h"
#include "server/base/log.h"

namespace isocenter::pipeline {

void ActiveJobs::Add(std::shared_ptr<ActiveJob> job) {
  bool suspended = false;
  {
    absl::MutexLock lock(&mutex_);
    suspended = mode_ == Mode::kSuspended;
    jobs_[job->id()] = job;
  }
  if (suspended) job->Suspend();
  deadline_set_();
}

void ActiveJobs::Remove(const std::string& id) {
  std::shared_ptr<ActiveJob> last;  // destroyed after the lock is given back
  absl::MutexLock lock(&mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  last = std::move(found->second);
  jobs_.erase(found);
}

std::vector<std::shared_ptr<ActiveJob>> ActiveJobs::ByUrgency() const {
  std::vector<std::shared_ptr<ActiveJob>> jobs = All();
  std::ranges::stable_sort(jobs, {}, [](const auto& job) {
    return std::tuple(job->gives_way(), job->urgency().job_class, job->urgency().deadline);
  });
  return jobs;
}

void ActiveJobs::StartWaiting(RunMaker& runs) const {
  for (const auto& job : ByUrgency()) {
    if (!job->waits() || (job->gives_way() && draining())) continue;
    job->SeekRun(runs);
  }
}

absl::Time ActiveJobs::EndOverdue() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& job : All()) next = std::min(next, job->EndIfOverdue());
  return next;
}

absl::Time ActiveJobs::StoreAgain() const {
  absl::Time next = absl::InfiniteFuture();
  const bool stops = draining();
  for (const auto& job : All()) next = std::min(next, job->StoreAgainIfDue(stops));
  return next;
}

int ActiveJobs::WaitingForRoom() const {
  return static_cast<int>(
      std::ranges::count_if(All(), [](const auto& job) { return job->waits_for_room(); }));
}

// ---- Runs --------------------------------------------------------------------------------------

bool ActiveJobs::TakeRun(ActiveJob& job, std::shared_ptr<Run> run, std::function<void()> freed) {
  // Before: a job that ends with its run leaves at once.
  std::shared_ptr<const void> errand = BeginErrand();
  if (!job.DropRun(run)) return false;
  FreeRun(std::move(run), [errand = std::move(errand), freed = std::move(freed)] { freed(); });
  return true;
}

void ActiveJobs::ReplaceLostRuns(const RunMaker& runs, jobs::JobObserver& observer) {
  for (const auto& job : All()) {
    std::shared_ptr<Run> run = job->run();
    if (run == nullptr) continue;
    const auto used = runs.SlotsOf(run->place().devices);
    if (std::ranges::all_of(used, [](const auto* slot) { return slot->healthy(); })) continue;
    if (!TakeRun(*job, std::move(run), [] {})) continue;
    job->Warn({jobs::WarningKind::kDeviceReplaced, std::nullopt, job->BeginsAgain()});
    observer.OnJobResumed("device");
  }
}

bool ActiveJobs::YieldOne() {
  std::vector<std::shared_ptr<ActiveJob>> jobs = ByUrgency();
  std::ranges::reverse(jobs);
  for (const auto& job : jobs) {
    std::shared_ptr<Run> run = job->run();
    if (run == nullptr || !job->gives_way()) continue;
    const auto freed = std::make_shared<absl::Notification>();
    if (!TakeRun(*job, std::move(run), [freed] { freed->Notify(); })) continue;
    spdlog::info("event=refinement_yields job={}", job->id());
    freed->WaitForNotification();
    deadline_set_();
    run_taken_();
    return true;
  }
  return false;
}

// ---- The end -----------------------------------------------------------------------------------

void ActiveJobs::Drain() {
  absl::MutexLock lock(&mutex_);
  mode_ = std::max(mode_, Mode::kDraining);
}

bool ActiveJobs::draining() const {
  absl::MutexLock lock(&mutex_);
  return mode_ >= Mode::kDraining;
}

void ActiveJobs::SuspendWaiting() const {
  for (const auto& job : All()) {
    if (job->waits()) job->Suspend();
  }
}

void ActiveJobs::SuspendAll() {
  {
    absl::MutexLock lock(&mutex_);
    mode_ = Mode::kSuspended;
  }
  for (const auto& job : All()) job->Suspend();
}

std::shared_ptr<const void> ActiveJobs::BeginErrand() {
  absl::MutexLock lock(&mutex_);
  ++errands_;
  return std::shared_ptr<const void>(this, [this](const void*) {
    absl::MutexLock lock(&mutex_);
    --errands_;
  });
}

bool ActiveJobs::AwaitIdle(absl::Time deadline) const {
  absl::MutexLock lock(&mutex_);
  const auto idle = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return jobs_.empty() && errands_ == 0;
  };
  return mutex_.AwaitWithDeadline(absl::Condition(&idle), deadline);
}

}  // namespace isocenter::pipeline
