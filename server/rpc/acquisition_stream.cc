#include "server/rpc/acquisition_stream.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/proto_buffer_writer.h"
#include "kernels/base/status_macros.h"
#include "server/config/grid_translation.h"
#include "server/rpc/status_translation.h"
#include "server/rpc/translate.h"
#include "server/rpc/translate_header.h"
#include "spdlog/spdlog.h"

namespace isocenter::rpc {
namespace {

// 10000 matrices take about 1 MiB; parsed, a hostile message grows to some 30 times its size.
constexpr int64_t kLongestHeaderBytes = 2 << 20;
constexpr int64_t kLongestFinishBytes = 4096;

}  // namespace

AcquisitionStream* AcquisitionStream::Start(AcquisitionContext& shared,
                                            grpc::CallbackServerContext* call) {
  std::shared_ptr<AcquisitionStream> stream(new AcquisitionStream(shared, call));
  stream->self_ = stream;
  absl::MutexLock lock(&stream->mutex_);
  if (stream->token_.number() > shared.max_streams) {
    const absl::Status full = absl::ResourceExhaustedError(
        absl::StrCat("1 acquisition stream is needed; 0 are free of ", shared.max_streams,
                     "; try again when other acquisitions have ended"));
    shared.observer.OnRefused(full);
    stream->Close(full);
  } else {
    stream->ArmIdleAlarm();
    stream->ReadNext();
  }
  return stream.get();
}

AcquisitionStream::AcquisitionStream(AcquisitionContext& shared, grpc::CallbackServerContext* call)
    : shared_(shared), token_(shared.calls), call_(call), last_activity_(absl::Now()) {}

void AcquisitionStream::OnReadDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    reading_ = false;
    last_activity_ = absl::Now();
    if (phase_ == Phase::kClosed) return;
  }
  ok ? HandleMessage() : HandleLoss();
}

void AcquisitionStream::HandleMessage() {
  Phase phase;
  std::shared_ptr<pipeline::ReconstructionJob> job;
  {
    absl::MutexLock lock(&mutex_);
    phase = phase_;
    job = job_;
  }
  if (phase == Phase::kHeader) {
    const absl::Status status = HandleHeader();
    if (!status.ok()) Refuse(status);
    return;
  }
  const absl::Status parsed =
      Parse(phase == Phase::kFrames ? frame_bytes_ + kFrameOverheadBytes : kLongestFinishBytes);
  if (!parsed.ok()) return Refuse(parsed);
  switch (message_.message_case()) {
    case v1::AcquireRequest::kHeader:
      return Refuse(absl::FailedPreconditionError(
          "a second header came; legal are frames and finish after the first"));
    case v1::AcquireRequest::kFrame: {
      if (phase != Phase::kFrames) {
        return Refuse(absl::FailedPreconditionError(
            absl::StrCat("frame.index is ", message_.frame().index(),
                         "; no frame is legal after finish, or for a job that exists already")));
      }
      const absl::Status status = HandleFrame();
      if (!status.ok()) Refuse(status);
      return;
    }
    case v1::AcquireRequest::kFinish: {
      if (phase == Phase::kResult && job != nullptr) {
        return Refuse(absl::FailedPreconditionError("finish came twice; legal is once"));
      }
      const absl::Status status = job != nullptr ? job->FinishInput() : absl::OkStatus();
      if (!status.ok()) return Refuse(status);
      absl::MutexLock lock(&mutex_);
      if (phase_ == Phase::kClosed) return;
      phase_ = Phase::kResult;
      ReadNext();
      return Pump();
    }
    case v1::AcquireRequest::MESSAGE_NOT_SET:
      return Refuse(absl::InvalidArgumentError(
          "message is unset or of a later version; legal is header, frame or finish"));
  }
}

absl::Status AcquisitionStream::HandleHeader() {
  ISO_RETURN_IF_ERROR(Parse(kLongestHeaderBytes));
  if (!message_.has_header()) {
    return absl::FailedPreconditionError("the first message is not a header; legal is a header");
  }
  ISO_ASSIGN_OR_RETURN(
      pipeline::AcquisitionRequest request,
      TranslateHeader(message_.header(), shared_.protocols, shared_.max_message_bytes));
  message_.Clear();
  frame_bytes_ = pipeline::FrameBytes(request.acquisition);
  {
    absl::MutexLock lock(&mutex_);
    if (phase_ == Phase::kClosed) return absl::OkStatus();
    phase_ = Phase::kPlanning;
  }
  std::weak_ptr<AcquisitionStream> weak = shared_from_this();
  shared_.engine.Accept(
      std::move(request),
      [self = shared_from_this()] {
        absl::MutexLock lock(&self->mutex_);
        return self->phase_ == Phase::kPlanning;
      },
      [weak] {
        if (const auto self = weak.lock()) {
          absl::MutexLock lock(&self->mutex_);
          if (self->phase_ == Phase::kFrames) self->ReadNext();
        }
      },
      [self = shared_from_this()](absl::StatusOr<pipeline::Engine::Accepted> accepted) {
        self->HandleAccepted(std::move(accepted));
      });
  return absl::OkStatus();
}

void AcquisitionStream::HandleAccepted(absl::StatusOr<pipeline::Engine::Accepted> accepted) {
  if (!accepted.ok()) return Refuse(accepted.status());
  const jobs::Job& job = *accepted->snapshot;
  bool closed = false;
  {
    absl::MutexLock lock(&mutex_);
    closed = phase_ == Phase::kClosed;
    if (!closed) {
      job_ = accepted->job;
      job_id_ = job.id;
      phase_ = job_ != nullptr ? Phase::kFrames : Phase::kResult;
      v1::Accepted& message = *accepted_.emplace().mutable_accepted();
      message.set_job_id(job.id);
      message.set_next_frame_index(job_ != nullptr ? 0 : job.progress.frames_total);
      *message.mutable_grid() = config::GridToProto(job.grid);
      message.set_peak_bytes(accepted->peak_bytes);
      message.set_predicted_seconds(accepted->predicted_seconds);
      std::weak_ptr<AcquisitionStream> weak = shared_from_this();
      auto subscription = shared_.table.Subscribe(job.id, [weak] {
        if (const auto self = weak.lock()) self->OnJobChanged();
      });
      if (subscription.ok()) subscription_ = *std::move(subscription);
      last_activity_ = absl::Now();
      ReadNext();
      Pump();
    }
  }
  if (closed && accepted->job != nullptr) {
    accepted->job->AbandonInput(jobs::JobState::kCancelled,
                                absl::CancelledError("the console left before the first frame"));
  }
}

absl::Status AcquisitionStream::HandleFrame() {
  std::shared_ptr<pipeline::ReconstructionJob> job;
  {
    absl::MutexLock lock(&mutex_);
    job = job_;
  }
  const v1::Frame& message = message_.frame();
  pipeline::Frame frame{.index = message.index(),
                        .pixels = std::as_bytes(std::span(message.pixels()))};
  if (message.has_checksum()) frame.crc32c = message.crc32c();
  if (message.has_measured_matrix()) {
    const absl::StatusOr<ProjectionMatrix> matrix = MatrixFromProto(message.measured_matrix());
    if (!matrix.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "frame.measured_matrix of frame ", message.index(), ": ", matrix.status().message()));
    }
    frame.measured_matrix = *matrix;
  }
  ISO_ASSIGN_OR_RETURN(const bool room, job->AddFrame(frame));
  if (!room) return absl::OkStatus();  // the engine calls when there is
  absl::MutexLock lock(&mutex_);
  if (phase_ == Phase::kFrames) ReadNext();
  return absl::OkStatus();
}

void AcquisitionStream::Refuse(const absl::Status& why) {
  std::shared_ptr<pipeline::ReconstructionJob> job;
  bool first = false;
  {
    absl::MutexLock lock(&mutex_);
    job = job_;
    first = phase_ != Phase::kClosed;
    if (first && job_id_.empty()) shared_.observer.OnRefused(why);
    if (first) {
      spdlog::warn("event=acquisition_refused job={} reason=\"{}\"",
                   job_id_.empty() ? "none" : job_id_, Loggable(why));
    }
    Close(why);
  }
  if (first && job != nullptr) job->AbandonInput(jobs::JobState::kFailed, why);
}

void AcquisitionStream::HandleLoss() {
  std::shared_ptr<pipeline::ReconstructionJob> job;
  {
    absl::MutexLock lock(&mutex_);
    if (phase_ == Phase::kHeader) {
      return Close(absl::FailedPreconditionError("the stream ended before its header"));
    }
    // After finish the console may close its side and wait.
    if (phase_ != Phase::kFrames) return;
    phase_ = Phase::kResult;
    job = job_;
  }
  AbandonInput(*job);
}

void AcquisitionStream::HandleLeft(const absl::Status& why) {
  std::shared_ptr<pipeline::ReconstructionJob> job;
  {
    absl::MutexLock lock(&mutex_);
    // In one step: a job that is accepted at this moment either is seen here or sees kClosed.
    if (phase_ == Phase::kFrames) job = job_;
    Close(why);
  }
  if (job != nullptr) AbandonInput(*job);
}

void AcquisitionStream::AbandonInput(pipeline::ReconstructionJob& job) {
  const auto now = shared_.table.Get(job.id());
  const int frames = now.ok() ? (*now)->progress.frames_received : 0;
  job.AbandonInput(
      jobs::JobState::kCancelled,
      absl::CancelledError(absl::StrCat("the console's stream ended after ", frames, " of ",
                                        job.plan().views(), " frames, before finish")));
}

void AcquisitionStream::OnCancel() { HandleLeft(absl::CancelledError("the call was cancelled")); }

void AcquisitionStream::OnJobChanged() {
  absl::MutexLock lock(&mutex_);
  Pump();
}

void AcquisitionStream::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    last_activity_ = absl::Now();
    if (ok) return Pump();
  }
  HandleLeft(absl::CancelledError("the console has gone"));
}

void AcquisitionStream::OnDone() {
  std::shared_ptr<AcquisitionStream> last;
  jobs::JobTable::Subscription subscription;
  absl::MutexLock lock(&mutex_);
  subscription = std::move(subscription_);
  idle_alarm_.reset();
  job_.reset();
  last = std::move(self_);
}

absl::Status AcquisitionStream::Parse(int64_t longest) {
  const int64_t bytes = static_cast<int64_t>(incoming_.Length());
  if (bytes > longest) {
    return absl::InvalidArgumentError(
        absl::StrCat("the message has ", bytes, " bytes; legal is at most ", longest, " here"));
  }
  grpc::ProtoBufferReader reader(&incoming_);
  const bool parsed = message_.ParseFromZeroCopyStream(&reader);
  incoming_.Clear();
  if (parsed) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the message of ", bytes, " bytes is not an AcquireRequest; legal is valid protobuf"));
}

void AcquisitionStream::ReadNext() {
  if (finished_ || reading_) return;
  reading_ = true;
  last_activity_ = absl::Now();
  StartRead(&incoming_);
}

void AcquisitionStream::Close(const absl::Status& status) {
  if (phase_ != Phase::kClosed) {
    phase_ = Phase::kClosed;
    final_status_ = status;
  }
  Pump();
}

void AcquisitionStream::Pump() {
  if (writing_ || finished_) return;
  if (phase_ != Phase::kClosed) {
    const std::optional<v1::AcquireResponse> response = NextResponse();
    if (response) {
      outgoing_.Clear();
      bool own_buffer = false;
      grpc::SerializationTraits<v1::AcquireResponse>::Serialize(*response, &outgoing_, &own_buffer);
      writing_ = true;
      StartWrite(&outgoing_);
      return;
    }
  }
  if (phase_ != Phase::kClosed) return;
  finished_ = true;
  Finish(ToGrpc(final_status_));
}

std::optional<v1::AcquireResponse> AcquisitionStream::NextResponse() {
  if (job_id_.empty()) return std::nullopt;
  if (accepted_) return std::exchange(accepted_, std::nullopt);
  const absl::StatusOr<jobs::JobSnapshot> snapshot = shared_.table.Get(job_id_);
  if (!snapshot.ok()) {
    phase_ = Phase::kClosed;
    final_status_ = absl::AbortedError(absl::StrCat("job '", job_id_, "' has been deleted"));
    return std::nullopt;
  }
  const jobs::Job& job = **snapshot;
  v1::AcquireResponse response;
  if (job.progress.frames_received > frames_acknowledged_) {
    frames_acknowledged_ = job.progress.frames_received;
    response.mutable_acknowledgement()->set_frame_index(frames_acknowledged_ - 1);
    return response;
  }
  // Received frames are acknowledged already; progress tells of the rest.
  std::string progress =
      absl::StrCat(static_cast<int>(job.state), " ", job.progress.frames_backprojected, " ",
                   job.progress.slices_exported);
  if (progress != progress_sent_) {
    progress_sent_ = std::move(progress);
    *response.mutable_progress() = ProgressToProto(job);
    return response;
  }
  if (!jobs::HasEnded(job.state)) return std::nullopt;
  if (job.state == jobs::JobState::kCompleted && !result_sent_) {
    result_sent_ = true;
    *response.mutable_result() = ResultToProto(job);
    return response;
  }
  phase_ = Phase::kClosed;
  final_status_ = job.error;
  return std::nullopt;
}

void AcquisitionStream::ArmIdleAlarm() {
  const auto deadline = absl::ToChronoTime(last_activity_ + shared_.idle_limit);
  idle_alarm_ = std::make_unique<grpc::Alarm>();
  // The alarm belongs to the stream and keeps its callback, which must not keep the stream.
  idle_alarm_->Set(deadline, [weak = weak_from_this()](bool expired) {
    const auto self = weak.lock();
    if (expired && self != nullptr) self->OnIdleAlarm();
  });
}

void AcquisitionStream::OnIdleAlarm() {
  std::shared_ptr<pipeline::ReconstructionJob> job;
  absl::Status why;
  {
    absl::MutexLock lock(&mutex_);
    if (finished_) return;
    const bool expired = absl::Now() - last_activity_ >= shared_.idle_limit;
    // Silence counts while the console is to send; a write that nobody takes counts always.
    const bool silent = reading_ && (phase_ == Phase::kHeader || phase_ == Phase::kFrames);
    if (expired && writing_) call_->TryCancel();
    if (!expired || !silent) {
      if (expired) last_activity_ = absl::Now();
      return ArmIdleAlarm();
    }
    job = job_;
    why = absl::DeadlineExceededError(absl::StrCat("the console sent nothing for ",
                                                   absl::FormatDuration(shared_.idle_limit),
                                                   "; legal is at most that"));
    Close(why);
  }
  if (job != nullptr) job->AbandonInput(jobs::JobState::kCancelled, why);
}

}  // namespace isocenter::rpc
