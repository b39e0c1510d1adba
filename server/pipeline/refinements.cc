#include "server/pipeline/refinements.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "spdlog/spdlog.h"

namespace isocenter::pipeline {

using jobs::JobState;

bool Refinements::SourceIsCompleted(RefinementJob& job) {
  const absl::StatusOr<jobs::JobSnapshot> source = environment_.table.Get(job.source_id());
  if (source.ok() && (*source)->state == JobState::kCompleted) return true;
  if (source.ok() && !jobs::HasEnded((*source)->state)) return false;
  job.Fail(absl::FailedPreconditionError(
      absl::StrCat("job '", job.source_id(), "', which was to be refined, ",
                   source.ok() ? absl::StrCat("is ", std::string(jobs::Name((*source)->state)))
                               : std::string("does not exist any more"))));
  return false;
}

void Refinements::StartWaiting() {
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) return;  // the next start begins them
  }
  std::vector<std::shared_ptr<RefinementJob>> waiting = Active();
  std::erase_if(waiting, [](const auto& job) { return !job->waits(); });
  std::ranges::sort(waiting, [](const auto& a, const auto& b) {
    return std::pair(a->urgency().job_class, a->urgency().deadline) <
           std::pair(b->urgency().job_class, b->urgency().deadline);
  });
  for (const auto& job : waiting) {
    if (!SourceIsCompleted(*job)) continue;
    // Before it is tried: who holds what is missing may leave meanwhile.
    const bool others_hold = environment_.scheduler.active_jobs() > 0;
    auto run = environment_.runs.MakeRefinement(*job->acquisition(), job->grid(), job->request(),
                                                job->urgency());
    if (run.ok()) {
      job->StartRun(*std::move(run));
      continue;
    }
    // What does not fit beside nothing never fits.
    const bool may_fit_later = absl::IsResourceExhausted(run.status()) && others_hold;
    if (!may_fit_later && !absl::IsUnavailable(run.status())) job->Fail(run.status());
  }
}

absl::Time Refinements::EndOverdue() {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& job : Active()) next = std::min(next, job->EndIfOverdue(absl::Now()));
  return next;
}

void Refinements::ReplaceLostRuns() {
  for (const auto& job : Active()) {
    std::shared_ptr<RefinementRun> dropped = job->run();
    if (dropped == nullptr) continue;
    const auto used = environment_.runs.SlotsOf(dropped->place().devices);
    if (std::ranges::all_of(used, [](const auto* slot) { return slot->healthy(); })) continue;
    if (job->DropRun() == nullptr) continue;
    Free(std::move(dropped), [] {});
    job->Warn({jobs::WarningKind::kDeviceReplaced, std::nullopt,
               "a device failed; the refinement begins again"});
    environment_.observer.OnJobResumed("device");
  }
}

void Refinements::Free(std::shared_ptr<RefinementRun> run, std::function<void()> freed) {
  {
    absl::MutexLock lock(&mutex_);
    ++runs_being_freed_;
  }
  run->lane().Clear();
  scheduler::DeviceSlot& slot = run->slot();
  FreeOnSlotThread(slot, std::move(run), [this, freed = std::move(freed)] {
    freed();
    absl::MutexLock lock(&mutex_);
    --runs_being_freed_;
  });
}

bool Refinements::YieldOne() {
  std::vector<std::shared_ptr<RefinementJob>> jobs = Active();
  std::ranges::sort(jobs, [](const auto& a, const auto& b) {
    return std::pair(a->urgency().job_class, a->urgency().deadline) >
           std::pair(b->urgency().job_class, b->urgency().deadline);
  });
  for (const auto& job : jobs) {
    std::shared_ptr<RefinementRun> run = job->DropRun();
    if (run == nullptr) continue;
    spdlog::info("event=refinement_yields job={}", job->id());
    auto freed = std::make_shared<absl::Notification>();
    Free(std::move(run), [freed] { freed->Notify(); });
    freed->WaitForNotification();
    environment_.changed();
    return true;
  }
  return false;
}

// ---- The end -----------------------------------------------------------------------------------

void Refinements::OnEnded(RefinementJob& job) {
  const absl::StatusOr<jobs::JobSnapshot> snapshot = environment_.table.Get(job.id());
  const bool suspended = snapshot.ok() && !jobs::HasEnded((*snapshot)->state);
  if (!suspended) EndUse(job.source_id());
  std::shared_ptr<RefinementJob> last;  // destroyed after the lock is given back
  absl::MutexLock lock(&mutex_);
  const auto found = active_.find(job.id());
  if (found == active_.end()) return;
  last = std::move(found->second);
  active_.erase(found);
}

void Refinements::Use(const std::string& source_id) {
  absl::MutexLock lock(&uses_mutex_);
  ++uses_[source_id];
}

void Refinements::EndUse(const std::string& source_id) {
  {
    absl::MutexLock lock(&uses_mutex_);
    const auto uses = uses_.find(source_id);
    if (uses == uses_.end() || --uses->second > 0) return;
    uses_.erase(uses);
  }
  const absl::StatusOr<jobs::JobSnapshot> source = environment_.table.Get(source_id);
  if (!source.ok() || jobs::HasEnded((*source)->state)) ReleaseFrames(source_id);
}

void Refinements::ReleaseFrames(const std::string& job_id) {
  absl::MutexLock lock(&uses_mutex_);
  if (!uses_.contains(job_id)) environment_.spool.Release(job_id);
}

void Refinements::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  absl::Notification made;
  opening_->Submit([&made] { made.Notify(); });
  made.WaitForNotification();
}

void Refinements::SuspendWaiting() {
  for (const auto& job : Active()) {
    if (job->run() == nullptr) job->Suspend();
  }
}

void Refinements::SuspendAll() {
  for (const auto& job : Active()) job->Suspend();
}

bool Refinements::AwaitNone(absl::Time deadline) const {
  absl::MutexLock lock(&mutex_);
  const auto none = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return active_.empty() && runs_being_freed_ == 0;
  };
  return mutex_.AwaitWithDeadline(absl::Condition(&none), deadline);
}

std::shared_ptr<RefinementJob> Refinements::Find(const std::string& job_id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = active_.find(job_id);
  return found == active_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<RefinementJob>> Refinements::Active() const {
  std::vector<std::shared_ptr<RefinementJob>> active;
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, job] : active_) active.push_back(job);
  return active;
}

}  // namespace isocenter::pipeline
