// How a refinement ends: cancelled, failed, overdue, suspended; and gives back what it holds.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/pipeline/job_record.h"
#include "server/pipeline/refinement_job.h"

namespace isocenter::pipeline {

using jobs::Job;
using jobs::JobState;

absl::Time RefinementJob::EndIfOverdue(absl::Time now) {
  {
    absl::MutexLock lock(&mutex_);
    if (ended_ || run_ != nullptr) return absl::InfiniteFuture();
    if (urgency_.deadline > now) return urgency_.deadline;
  }
  Fail(absl::DeadlineExceededError(
      absl::StrCat("the deadline passed while the refinement waited for a device; the volume of "
                   "job '",
                   source_id_, "' stands")));
  return absl::InfiniteFuture();
}

void RefinementJob::Cancel(const absl::Status& why) {
  bool waits_for_exporter = false;
  {
    absl::MutexLock lock(&mutex_);
    if (ended_) return;
    end_reason_ = why;
    if (storing_) cancel_requested_ = true;
    if (export_begun_) return;
    ended_ = true;
    // The exporter may be at work on another job's volume for seconds; it frees the memory.
    waits_for_exporter = storing_;
  }
  const absl::Time now = absl::Now();
  LogUnsaved(id_, environment_.table.Transition(id_, JobState::kCancelled, [&](Job& job) {
    job.error = why;
    job.end_time = now;
  }));
  if (!waits_for_exporter) FreeMemory();
}

void RefinementJob::Fail(const absl::Status& why) {
  if (ClaimEnd()) PublishEnd(JobState::kFailed, why);
}

void RefinementJob::Suspend() {
  {
    absl::MutexLock lock(&mutex_);
    if (ended_ || cancel_requested_) return;
    suspended_ = true;
    if (storing_) cancel_requested_ = true;
    if (export_begun_) return;
    ended_ = true;
    if (storing_) return;  // the exporter frees the memory
  }
  FreeMemory();
}

bool RefinementJob::ClaimEnd() {
  absl::MutexLock lock(&mutex_);
  if (ended_ || storing_) return false;
  ended_ = true;
  return true;
}

void RefinementJob::PublishEnd(JobState state, const absl::Status& why,
                               const std::function<void(Job&)>& change) {
  const absl::Time now = absl::Now();
  LogUnsaved(id_, environment_.table.Transition(id_, state, [&](Job& job) {
    job.error = why;
    job.end_time = now;
    if (change) change(job);
  }));
  FreeMemory();
}

void RefinementJob::FreeMemory() {
  std::shared_ptr<RefinementRun> run;
  {
    absl::MutexLock lock(&mutex_);
    run = std::move(run_);
  }
  if (run == nullptr) return environment_.ended(*this);
  run->lane().Clear();
  scheduler::DeviceSlot& slot = run->slot();
  FreeOnSlotThread(slot, std::move(run),
                   [self = shared_from_this()] { self->environment_.ended(*self); });
}

}  // namespace isocenter::pipeline
