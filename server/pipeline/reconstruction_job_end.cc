// How a job ends: completed, failed, cancelled or suspended, once, whoever asks for it.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/pipeline/job_record.h"
#include "server/pipeline/reconstruction_job.h"

namespace isocenter::pipeline {

using jobs::Job;
using jobs::JobState;

void ReconstructionJob::Cancel(const absl::Status& why) {
  bool waits_for_exporter = false;
  {
    absl::MutexLock lock(&mutex_);
    if (storing_ && !ended_) {
      if (!cancel_requested_) end_reason_ = why;
      cancel_requested_ = true;
      if (export_begun_) return;
      // The exporter may be at work on another job's volume for seconds; it frees the memory.
      ended_ = waits_for_exporter = true;
    }
  }
  if (waits_for_exporter) return PublishState(JobState::kCancelled, why);
  if (ClaimEnd(why, Ending::kByAnyone)) PublishEnd(JobState::kCancelled, why);
}

void ReconstructionJob::Fail(const absl::Status& why) {
  if (ClaimEnd(why, Ending::kByAnyone)) PublishEnd(JobState::kFailed, why);
}

void ReconstructionJob::Suspend() {
  const absl::Status why = absl::UnavailableError(
      absl::StrCat("the service stops; job '", id_, "' goes on when it starts again"));
  std::shared_ptr<FrameProducer> producer;
  bool storing = false;
  {
    absl::MutexLock lock(&mutex_);
    if (ended_ || cancel_requested_) return;
    suspended_ = true;
    end_reason_ = why;
    producer = producer_.lock();
    storing = storing_;
    if (storing) {
      cancel_requested_ = true;
    } else {
      ended_ = true;
    }
  }
  if (producer != nullptr) producer->OnRefused(why);
  if (!storing) FreeMemory();  // else the exporter does
}

bool ReconstructionJob::ClaimEnd(const absl::Status& why, Ending ending) {
  absl::MutexLock lock(&mutex_);
  if (ended_ || (storing_ && ending != Ending::kByExporter)) return false;
  ended_ = true;
  end_reason_ = why;
  return true;
}

void ReconstructionJob::PublishEnd(JobState state, const absl::Status& why,
                                   const std::function<void(Job&)>& change) {
  PublishState(state, why, change);
  FreeMemory();
}

void ReconstructionJob::PublishState(JobState state, const absl::Status& why,
                                     const std::function<void(Job&)>& change) {
  const absl::Time now = absl::Now();
  LogUnsaved(id_, environment_.table.Transition(id_, state, [&](Job& job) {
    job.error = why;
    job.end_time = now;
    job.preview = nullptr;
    if (change) change(job);
  }));
}

void ReconstructionJob::FreeMemory() {
  std::shared_ptr<ReconstructionRun> run;
  {
    absl::MutexLock lock(&mutex_);
    // The spool still calls back, with what may be gone once the keeper has let go of the job.
    frees_after_callbacks_ = callbacks_ > 0;
    if (frees_after_callbacks_) return;
    run = std::move(run_);
  }
  if (run == nullptr) return environment_.keeper.OnJobEnded(*this);
  run->lane().Clear();
  scheduler::DeviceSlot& slot = run->slot();
  FreeOnSlotThread(slot, std::move(run),
                   [self = shared_from_this()] { self->environment_.keeper.OnJobEnded(*self); });
}

absl::Status ReconstructionJob::EndStatusLocked() const {
  return end_reason_.ok() ? absl::FailedPreconditionError(absl::StrCat("job '", id_, "' has ended"))
                          : end_reason_;
}

}  // namespace isocenter::pipeline
