#include "server/pipeline/active_job.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/device_lost.h"
#include "server/pipeline/job_record.h"

namespace isocenter::pipeline {

using jobs::Job;
using jobs::JobState;

ActiveJob::ActiveJob(std::string id, const VolumeGrid& grid, const scheduler::Urgency& urgency,
                     absl::Time accepted_time, const JobEnvironment& environment)
    : id_(std::move(id)),
      grid_(grid),
      urgency_(urgency),
      accepted_time_(accepted_time),
      environment_(environment),
      export_(environment.exporter.NewLane(urgency)) {}

Duty ActiveJob::Apply(LifeEvent event) {
  const LifeStep step = Next(life_, event);
  life_ = step.next;
  return step.duty;
}

// ---- The run -----------------------------------------------------------------------------------

bool ActiveJob::waits() const {
  absl::MutexLock lock(&mutex_);
  return life_ == LifeState::kWaiting;
}

std::shared_ptr<Run> ActiveJob::run() const {
  absl::MutexLock lock(&mutex_);
  return run_;
}

bool ActiveJob::TakeRun(std::shared_ptr<Run> run) {
  if (Apply(LifeEvent::kRunGiven) == Duty::kNone) return false;
  run_ = std::move(run);
  return true;
}

bool ActiveJob::DropRun(const std::shared_ptr<Run>& run) {
  Duty duty;
  absl::Status why;
  {
    absl::MutexLock lock(&mutex_);
    if (run_ != run) return false;
    duty = Apply(LifeEvent::kRunTaken);
    if (duty == Duty::kNone) return false;
    run_ = nullptr;
    store_again_ = absl::InfiniteFuture();
    why = reason_;
  }
  Do(duty, why);
  return true;
}

bool ActiveJob::IsCurrent(const std::shared_ptr<Run>& run) const {
  return !IsOver(life_) && run_ == run;
}

bool ActiveJob::IsCurrentNow(const std::shared_ptr<Run>& run) const {
  absl::MutexLock lock(&mutex_);
  return IsCurrent(run);
}

void ActiveJob::OnRunFailed(const std::shared_ptr<Run>& run, const absl::Status& why) {
  if (!IsCurrentNow(run)) return;
  if (ops::IsDeviceLost(why)) {
    environment_.keeper.OnDeviceLost(run->place(), why);
  } else {
    Fail(why);
  }
}

// ---- The volume --------------------------------------------------------------------------------

void ActiveJob::SubmitExport(std::shared_ptr<Run> run) {
  export_->Submit([self = shared_from_this(), run = std::move(run)] { self->StoreVolume(run); });
}

void ActiveJob::StoreVolume(const std::shared_ptr<Run>& run) {
  const absl::Time begin = Now();
  Duty duty;
  {
    absl::MutexLock lock(&mutex_);
    if (run_ != run) return;  // its device was lost
    duty = Apply(LifeEvent::kExporterTurn);
  }
  if (duty != Duty::kGoOn) return Do(duty, absl::OkStatus());
  bool lacks_room = false;
  const absl::StatusOr<jobs::StoredSeries> stored = Store(run.get(), lacks_room);
  if (stored.ok()) {
    Complete(run, *stored, begin);
  } else if (lacks_room) {
    OnNoRoom(run, stored.status());
  } else {
    OnStoreFailed(run, stored.status());
  }
}

absl::StatusOr<jobs::StoredSeries> ActiveJob::Store(Run* run, bool& lacks_room) {
  ISO_ASSIGN_OR_RETURN(const jobs::JobSnapshot job, environment_.table.Get(id_));
  const absl::Status room = FindRoom(*job);
  lacks_room = absl::IsResourceExhausted(room);
  ISO_RETURN_IF_ERROR(room);
  ISO_ASSIGN_OR_RETURN(const Output output, OutputOf(run));
  absl::Status awaited;  // devices run out of memory, too
  const auto await = [&](int slices) {
    if (output.await) awaited = output.await(slices);
    return awaited;
  };
  auto stored = environment_.results.Store(*job, output.volume, await, [&](int slices) {
    environment_.table.Update(id_,
                              [&](Job& changed) { changed.progress.slices_exported = slices; });
    absl::MutexLock lock(&mutex_);
    return !StopsStoring(life_);
  });
  lacks_room = absl::IsResourceExhausted(stored.status()) && awaited.ok();
  return stored;
}

void ActiveJob::OnStoreFailed(const std::shared_ptr<Run>& run, absl::Status why) {
  Duty duty;
  {
    absl::MutexLock lock(&mutex_);
    if (run_ != run) return;  // its device was lost; another run computes the volume again
    duty = Apply(ops::IsDeviceLost(why) ? LifeEvent::kStoreLost : LifeEvent::kStoreFailed);
    if (duty == Duty::kFail) reason_ = why;
    why = reason_;
  }
  Do(duty, why);
}

// ---- Room on the disk --------------------------------------------------------------------------

void ActiveJob::TakeRoom(scheduler::DiskPromise room) {
  absl::MutexLock lock(&mutex_);
  room_ = std::move(room);
}

int64_t ActiveJob::room_bytes() const {
  absl::MutexLock lock(&mutex_);
  return room_.bytes();
}

absl::Status ActiveJob::FindRoom(const Job& job) {
  const int64_t bytes = environment_.results.StoredBytes(grid_, job.dicom_forms);
  if (room_bytes() == 0) {
    ISO_ASSIGN_OR_RETURN(scheduler::DiskPromise room, environment_.disk.Reserve(bytes));
    TakeRoom(std::move(room));
  }
  // Another program may have taken what was promised. Results matter more than kept frames.
  environment_.disk.FreeFromSpool(bytes);
  return absl::OkStatus();
}

void ActiveJob::OnNoRoom(const std::shared_ptr<Run>& run, absl::Status why) {
  Duty duty;
  bool is_first = false;
  {
    absl::MutexLock lock(&mutex_);
    if (run_ != run) return;  // its device was lost; another run computes the volume again
    duty = Apply(LifeEvent::kNoRoom);
    if (duty == Duty::kGoOn) {
      store_again_ = environment_.steady_clock() + environment_.store_again;
      is_first = !std::exchange(found_no_room_, true);
    } else {
      why = reason_;
    }
  }
  if (duty != Duty::kGoOn) return Do(duty, why);
  if (is_first) {
    Warn(
        {jobs::WarningKind::kArchiveFull, std::nullopt,
         absl::StrCat("the volume waits for room in the archive and is stored when there is some: ",
                      why.message())});
  }
  environment_.keeper.OnDeadlineSet();
}

bool ActiveJob::waits_for_room() const {
  absl::MutexLock lock(&mutex_);
  return found_no_room_ && !IsOver(life_);
}

absl::Time ActiveJob::StoreAgainIfDue(bool draining) {
  {
    absl::MutexLock lock(&mutex_);
    if (store_again_ == absl::InfiniteFuture()) return store_again_;
    const absl::Duration left = store_again_ - environment_.steady_clock();
    if (!draining && left > absl::ZeroDuration()) return Now() + left;
  }
  if (draining) {
    Suspend();
  } else {
    StoreAgain();
  }
  return absl::InfiniteFuture();
}

void ActiveJob::StoreAgain() {
  std::shared_ptr<Run> run;
  {
    absl::MutexLock lock(&mutex_);
    if (std::exchange(store_again_, absl::InfiniteFuture()) == absl::InfiniteFuture()) return;
    run = run_;
  }
  SubmitExport(std::move(run));
}

// ---- The end -----------------------------------------------------------------------------------

void ActiveJob::Complete(const std::shared_ptr<Run>& run, const jobs::StoredSeries& stored,
                         absl::Time begin) {
  const absl::Time end = Now();
  const Change summary = Summary(end);
  if (run != nullptr) SaveTrace(id_, run->trace(), run->PlanText(), environment_.table);
  Duty duty;
  {
    absl::MutexLock lock(&mutex_);
    if (run_ != run) return;
    duty = Apply(LifeEvent::kStored);
    if (duty == Duty::kNone) return;
    reason_ = absl::OkStatus();
  }
  TakeRoom({});  // it is taken now
  OnStored(stored);
  Do(duty, absl::OkStatus(), [&](Job& changed) {
    jobs::RecordStored(stored, changed);
    changed.result.timings.export_ = absl::ToDoubleSeconds(end - begin);
    // Also of a job that goes on after a restart.
    changed.result.timings.total = absl::ToDoubleSeconds(end - changed.create_time);
    if (summary) summary(changed);
  });
}

void ActiveJob::Stop(LifeEvent event, const absl::Status& why) {
  Duty duty;
  {
    absl::MutexLock lock(&mutex_);
    duty = Apply(event);
    if (duty == Duty::kNone) return;
    reason_ = why;
  }
  if (event == LifeEvent::kSuspend) OnSuspended(why);
  Do(duty, why);
  StoreAgain();  // where it waited for room: the exporter gives the memory back
}

void ActiveJob::Suspend() {
  Stop(LifeEvent::kSuspend, absl::UnavailableError(absl::StrCat("the service stops; job '", id_,
                                                                "' goes on when it starts again")));
}

void ActiveJob::Do(Duty duty, const absl::Status& why, const Change& change) {
  if (duty != Duty::kNone && duty != Duty::kGoOn) TakeRoom({});  // before anybody is told
  switch (duty) {
    case Duty::kNone:
    case Duty::kGoOn:
      return;
    case Duty::kAnnounceCancel:
      return Publish(JobState::kCancelled, why, change);
    case Duty::kComplete:
      Publish(JobState::kCompleted, why, change);
      break;
    case Duty::kFail:
      Publish(JobState::kFailed, why, change);
      break;
    case Duty::kCancel:
      Publish(JobState::kCancelled, why, change);
      break;
    case Duty::kLetGo:
      break;
  }
  Release();
}

void ActiveJob::Publish(JobState state, const absl::Status& why, const Change& change) {
  const absl::Time now = Now();
  LogUnsaved(id_, environment_.table.Transition(id_, state, [&](Job& job) {
    job.error = why;
    job.end_time = now;
    job.preview = nullptr;
    if (change) change(job);
  }));
}

void ActiveJob::Release() {
  std::shared_ptr<Run> run;
  {
    absl::MutexLock lock(&mutex_);
    if (--holds_ > 0) return;
    run = std::move(run_);
  }
  if (run == nullptr) return Leave();
  FreeRun(std::move(run), [self = shared_from_this()] { self->Leave(); });
}

void ActiveJob::Leave() {
  const absl::StatusOr<jobs::JobSnapshot> job = environment_.table.Get(id_);
  const bool suspended = job.ok() && !jobs::HasEnded((*job)->state);
  if (!suspended) OnEnded();
  environment_.keeper.OnGone(*this);
}

void ActiveJob::Warn(jobs::JobWarning warning) {
  PublishWarning(id_, warning, environment_.table, environment_.observer);
}

absl::Status ActiveJob::EndStatus() const {
  return reason_.ok() ? absl::FailedPreconditionError(absl::StrCat("job '", id_, "' has ended"))
                      : reason_;
}

}  // namespace isocenter::pipeline
