#include "server/rpc/acquisition_stream.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/log.h"
#include "server/jobs/private_error.h"
#include "server/rpc/addressee.h"

namespace isocenter::rpc {
namespace {

// A call's deadline travels as the time that is left, rounded up by 1 % at most, and so passes
// later here than at the console, which then ends the call.
bool DeadlineHasPassed(absl::Duration allowed, absl::Duration since) {
  constexpr absl::Duration kUnderWay = absl::Seconds(1);
  return allowed - allowed / 100 - kUnderWay <= since;
}

/// Of a job that goes on: what was sent is damaged or illegal. Else the job has ended, or another
/// stream has it.
bool IsOfWhatWasSent(const absl::Status& why) {
  return absl::IsDataLoss(why) || absl::IsInvalidArgument(why) || absl::IsFailedPrecondition(why);
}

}  // namespace

AcquisitionStream* AcquisitionStream::Start(AcquisitionContext& shared,
                                            grpc::CallbackServerContext* call) {
  std::shared_ptr<AcquisitionStream> stream(new AcquisitionStream(shared, call));
  stream->self_ = stream;
  const absl::Status admitted = stream->Admit();
  if (admitted.ok()) {
    // Its own alarm limits silence.
    shared.guard.reception().Enter(*stream, stream->permit_.account, absl::InfiniteDuration());
  } else {
    absl::MutexLock lock(&stream->mutex_);
    stream->Close(admitted);
  }
  return stream.get();
}

absl::Status AcquisitionStream::Admit() {
  if (!permit_.ok()) return permit_.status;
  absl::StatusOr<CallerQuotas::Place> place =
      shared_.guard.quotas().Enter(permit_.account, CallKind::kAcquisition);
  if (!place.ok()) {
    shared_.observer.OnRefused(place.status(), "");
    permit_.Record(audit::Action::kAcquire, jobs::Job(), place.status());
    return place.status();
  }
  place_ = *std::move(place);
  return CheckAddressee(*call_, shared_.cluster.node_name());
}

void AcquisitionStream::Receive() {
  absl::MutexLock lock(&mutex_);
  if (phase_ != Phase::kHeader) return;
  ArmIdleAlarm();
  ReadNext();
}

void AcquisitionStream::TurnAway(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  Close(why);
}

AcquisitionStream::AcquisitionStream(AcquisitionContext& shared, grpc::CallbackServerContext* call)
    : shared_(shared),
      token_(shared.calls),
      call_(call),
      permit_(shared.guard.Ask(*call, "Acquire", roles::Role::kConsole)),
      allowed_(absl::FromChrono(call->deadline() - std::chrono::system_clock::now())),
      last_activity_(begin_) {}

void AcquisitionStream::OnRoom() {
  absl::MutexLock lock(&mutex_);
  if (phase_ == Phase::kFrames) ReadNext();
}

void AcquisitionStream::OnRefused(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  if (IsOfWhatWasSent(why)) TellRefusedFrame(why);
  job_.reset();  // it is not this stream's any more
  Close(why);
}

void AcquisitionStream::Refuse(const absl::Status& why) {
  std::shared_ptr<pipeline::ReconstructionJob> job;
  int64_t stream = 0;
  bool began_job = false;
  {
    absl::MutexLock lock(&mutex_);
    if (phase_ == Phase::kClosed) return;
    job = job_;
    stream = stream_;
    began_job = began_job_;
    if (job_id_.empty()) {
      // A job that is asked for and does not exist is nobody's exposure.
      if (asked_for_.empty() || !absl::IsNotFound(why)) {
        shared_.observer.OnRefused(jobs::Publishable(why), station_name_);
      }
      const absl::StatusOr<jobs::JobSnapshot> asked_for = shared_.table.Get(asked_for_);
      permit_.Record(audit::Action::kAcquire, asked_for.ok() ? **asked_for : jobs::Job(), why);
    }
    if (!job_id_.empty() && IsOfWhatWasSent(why)) {
      TellRefusedFrame(why);
    } else {
      spdlog::warn("event=acquisition_refused job={} reason=\"{}\"",
                   job_id_.empty() ? "none" : job_id_, jobs::Loggable(why));
    }
    Close(why);
  }
  // What a second console sends is its own matter, not the job's.
  if (job != nullptr) job->Reject(stream, why, began_job);
}

void AcquisitionStream::TellRefusedFrame(const absl::Status& why) {
  shared_.observer.OnFrameRefused(why);
  const std::optional<int64_t> suppressed = shared_.refused_frames.Admit(job_id_, absl::Now());
  if (!suppressed) return;
  spdlog::warn("event=frame_refused job={} reason=\"{}\" suppressed={}", job_id_,
               jobs::Loggable(why), *suppressed);
}

void AcquisitionStream::HandleLoss() {
  std::shared_ptr<pipeline::ReconstructionJob> job;
  int64_t stream = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (phase_ == Phase::kHeader) {
      return Close(absl::FailedPreconditionError("the stream ended before its header"));
    }
    // After finish the console may close its side and wait.
    if (phase_ != Phase::kFrames) return;
    phase_ = Phase::kResult;
    job = job_;
    stream = stream_;
  }
  if (job == nullptr) return;
  const pipeline::ReconstructionJob::Absence absence = job->EndSending(stream);
  if (absence.missing == 0) return;
  // Of this stream alone, which may have lost its connection: the job may yet get all frames.
  absl::MutexLock lock(&mutex_);
  v1::JobWarning& warning = *notice_.emplace().mutable_warning();
  warning.set_kind(v1::WARNING_KIND_FRAME_GAP);
  warning.set_frame_index(absence.first_missing);
  warning.set_text(absl::StrCat(
      "the stream ended without finish, and ", absence.missing, " of ", job->frames(),
      " frames are missing, the first is frame ", absence.first_missing, "; the job waits until ",
      absl::FormatTime("%H:%M:%SZ", absl::Now() + absence.limit, absl::UTCTimeZone()), " (",
      absl::FormatDuration(absence.limit), ") for a stream that resumes it"));
  Pump();
}

void AcquisitionStream::HandleLeft(const absl::Status& why) {
  std::shared_ptr<pipeline::ReconstructionJob> job;
  int64_t stream = 0;
  {
    absl::MutexLock lock(&mutex_);
    // In one step: a job that is accepted at this moment either is seen here or sees kClosed.
    job = job_;
    stream = stream_;
    Close(why);
  }
  if (job == nullptr) return;
  // A console that gave its call a deadline does not want the volume any more; one whose connection
  // broke does. One that has only asked for the job has no say in it.
  if (stream != 0 && DeadlineHasPassed(allowed_, SteadyNow() - begin_)) {
    job->Cancel(absl::DeadlineExceededError("the deadline of the console's call has passed"));
  } else {
    job->Detach(stream);
  }
}

void AcquisitionStream::OnCancel() {
  shared_.guard.reception().LeaveQueue(*this);
  HandleLeft(absl::CancelledError("the call was cancelled"));
}

void AcquisitionStream::OnDone() {
  shared_.guard.reception().Leave(*this);
  std::shared_ptr<AcquisitionStream> last;
  jobs::JobTable::Subscription subscription;
  absl::MutexLock lock(&mutex_);
  subscription = std::move(subscription_);
  idle_alarm_.reset();
  job_.reset();
  last = std::move(self_);
}

void AcquisitionStream::ReadNext() {
  if (finished_ || reading_) return;
  reading_ = true;
  last_activity_ = SteadyNow();
  StartRead(&incoming_);
}

void AcquisitionStream::Close(const absl::Status& status) {
  if (phase_ != Phase::kClosed) {
    phase_ = Phase::kClosed;
    final_status_ = status;
  }
  Pump();
}

void AcquisitionStream::ArmIdleAlarm() {
  // gRPC's alarm may come early.
  const auto deadline = DeadlineIn(last_activity_ + shared_.idle_limit - SteadyNow());
  idle_alarm_ = std::make_unique<grpc::Alarm>();
  // The alarm belongs to the stream and keeps its callback, which must not keep the stream.
  idle_alarm_->Set(deadline, [weak = weak_from_this()](bool expired) {
    const auto self = weak.lock();
    if (expired && self != nullptr) self->OnIdleAlarm();
  });
}

void AcquisitionStream::OnIdleAlarm() {
  std::shared_ptr<pipeline::ReconstructionJob> job;
  int64_t stream = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (finished_) return;
    const bool expired = SteadyNow() - last_activity_ >= shared_.idle_limit;
    // Silence counts while the console is to send; a write that nobody takes counts always.
    const bool silent = reading_ && (phase_ == Phase::kHeader || phase_ == Phase::kFrames);
    if (!expired || !silent) {
      // Nor will it take how the call ends.
      if (expired && writing_) call_->TryCancel();
      if (expired) last_activity_ = SteadyNow();
      return ArmIdleAlarm();
    }
    job = job_;
    stream = stream_;
    Close(absl::DeadlineExceededError(absl::StrCat("the console sent nothing for ",
                                                   absl::FormatDuration(shared_.idle_limit),
                                                   "; legal is at most that")));
    if (!finished_) {
      // It has as long to take what is being written: how the call ends comes after that.
      last_activity_ = SteadyNow();
      ArmIdleAlarm();
    }
  }
  if (job != nullptr) job->Detach(stream);
}

}  // namespace isocenter::rpc
