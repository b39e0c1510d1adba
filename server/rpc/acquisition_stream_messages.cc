// What an acquisition's console sends: the header or a resumption, frames, the end of them.
#include <optional>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/completeness/frame_bytes.h"
#include "proto/wire/geometry.h"
#include "proto/wire/header_numbers.h"
#include "server/base/log.h"
#include "server/rpc/acquisition_stream.h"
#include "server/rpc/addressee.h"
#include "server/rpc/message_limits.h"
#include "server/rpc/translation/known_geometry.h"
#include "server/rpc/translation/translate_header.h"

namespace isocenter::rpc {

namespace {

/// Of a message that is longer than any frame of `acquisition`. INVALID_ARGUMENT, and which frame
/// of how many bytes it is, where it is one.
absl::Status TooLong(const RawMessage& raw, int64_t longest,
                     const recon::Acquisition& acquisition) {
  const absl::StatusOr<std::optional<RawMessage::Frame>> frame = raw.AsFrame();
  if (frame.ok() && frame->has_value()) {
    int64_t bytes = 0;
    for (const auto& piece : (*frame)->pixels) bytes += static_cast<int64_t>(piece.size());
    ISO_RETURN_IF_ERROR(recon::CheckFrameBytes((*frame)->fields.index(), bytes,
                                               acquisition.detector, acquisition.pixel_type));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the message has ", raw.bytes(), " bytes; legal is at most ", longest, " here"));
}

/// Of a job that a console goes on with, with the code of its reason.
absl::Status EndedAlready(const jobs::Job& job) {
  const bool cancelled = job.state == jobs::JobState::kCancelled;
  absl::Status ended(
      job.error.code(),
      absl::StrCat("job '", job.id, cancelled ? "' was cancelled" : "' has failed", " already, at ",
                   absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", job.end_time, absl::UTCTimeZone()),
                   ": ", job.error.message(), "; begin a new one"));
  job.error.ForEachPayload([&ended](absl::string_view type, const absl::Cord& payload) {
    ended.SetPayload(type, payload);
  });
  return ended;
}

absl::Status LateFrame(uint32_t index) {
  return absl::FailedPreconditionError(
      absl::StrCat("frame.index is ", index,
                   "; no frame is legal after finish, or for a job that has all of them"));
}

}  // namespace

void AcquisitionStream::OnReadDone(bool ok) {
  if (!std::exchange(arrived_, true)) shared_.guard.reception().Leave(*this);
  {
    absl::MutexLock lock(&mutex_);
    reading_ = false;
    last_activity_ = SteadyNow();
    if (phase_ == Phase::kClosed) return;
  }
  if (!ok) return HandleLoss();
  const absl::Status status = HandleMessage();
  if (!status.ok()) Refuse(status);
}

absl::Status AcquisitionStream::HandleMessage() {
  const RawMessage raw(incoming_);
  incoming_.Clear();
  Phase phase;
  int64_t longest = kLongestHeaderBytes;
  std::shared_ptr<pipeline::ReconstructionJob> job;
  {
    absl::MutexLock lock(&mutex_);
    phase = phase_;
    job = job_;
    if (phase == Phase::kFrames) longest = frame_bytes_ + kFrameOverheadBytes;
    if (phase == Phase::kResult) longest = kLongestFinishBytes;
  }
  if (phase == Phase::kResult) {
    // Whatever its length: it is said which frame came too late.
    const absl::StatusOr<std::optional<RawMessage::Frame>> late = raw.AsFrame();
    if (late.ok() && late->has_value()) return LateFrame((*late)->fields.index());
  }
  if (raw.bytes() > longest) {
    if (phase == Phase::kFrames) return TooLong(raw, longest, job->request().acquisition);
    return absl::InvalidArgumentError(absl::StrCat("the message has ", raw.bytes(),
                                                   " bytes; legal is at most ", longest, " here"));
  }
  if (phase == Phase::kHeader) return HandleFirst(raw);
  ISO_ASSIGN_OR_RETURN(std::optional<RawMessage::Frame> frame, raw.AsFrame());
  if (frame) {
    if (phase == Phase::kFrames) return HandleFrame(*std::move(frame));
    return LateFrame(frame->fields.index());
  }
  ISO_ASSIGN_OR_RETURN(const v1::AcquireRequest message, raw.Parse());
  switch (message.message_case()) {
    case v1::AcquireRequest::kFinish:
      return HandleFinish(message.finish());
    case v1::AcquireRequest::kHeader:
    case v1::AcquireRequest::kResume:
      return absl::FailedPreconditionError(
          "a second header came; legal are frames and finish after the first");
    default:
      return absl::InvalidArgumentError(
          "message is unset or of a later version; legal is header, resume, frame or finish");
  }
}

absl::Status AcquisitionStream::HandleFirst(const RawMessage& raw) {
  ISO_ASSIGN_OR_RETURN(const v1::AcquireRequest message, raw.Parse());
  if (message.has_header()) return HandleHeader(message.header());
  if (!message.has_resume()) {
    return absl::FailedPreconditionError(
        "the first message is neither header nor resume; legal is one of them");
  }
  return HandleResume(message.resume());
}

absl::Status AcquisitionStream::HandleResume(const v1::Resume& resume) {
  {
    absl::MutexLock lock(&mutex_);
    if (phase_ == Phase::kClosed) return absl::OkStatus();
    phase_ = Phase::kPlanning;
    asked_for_ = resume.job_id();
    station_name_ = resume.header().station_name();
  }
  pipeline::ResumeRequest request{.job_id = resume.job_id(), .caller = permit_.identity};
  if (resume.has_header()) {
    ISO_ASSIGN_OR_RETURN(request.acquisition, TranslateRepeated(resume.header()));
  }
  HandleAccepted(shared_.engine.Resume(request));
  return absl::OkStatus();
}

absl::Status AcquisitionStream::HandleHeader(const v1::AcquisitionHeader& header) {
  {
    absl::MutexLock lock(&mutex_);
    station_name_ = header.station_name();
  }
  ISO_ASSIGN_OR_RETURN(pipeline::AcquisitionRequest request, TranslateNew(header, shared_));
  request.caller = permit_.identity;
  request.trace_parent = TraceParentOf(*call_);
  {
    absl::MutexLock lock(&mutex_);
    if (phase_ == Phase::kClosed) return absl::OkStatus();
    phase_ = Phase::kPlanning;
  }
  shared_.engine.Accept(
      std::move(request),
      [self = shared_from_this()] {
        absl::MutexLock lock(&self->mutex_);
        return self->phase_ == Phase::kPlanning;
      },
      [self = shared_from_this()](absl::StatusOr<pipeline::Engine::Accepted> accepted) {
        self->HandleAccepted(std::move(accepted));
      });
  return absl::OkStatus();
}

void AcquisitionStream::HandleAccepted(absl::StatusOr<pipeline::Engine::Accepted> accepted) {
  if (!accepted.ok()) return Refuse(accepted.status());
  const jobs::Job& job = *accepted->snapshot;
  permit_.Record(audit::Action::kAcquire, job, absl::OkStatus());
  if (!accepted->is_proven) {
    spdlog::warn("event=resume_unproven job={} by=\"{}\"", job.id, permit_.caller());
  }
  int64_t stream = 0;
  if (accepted->job != nullptr) {
    // Whoever has the job keeps it until this console has shown what it sends.
    const absl::StatusOr<int64_t> attached = accepted->job->AttachIfFree(weak_from_this());
    if (attached.ok()) {
      stream = *attached;
    } else if (absl::IsUnavailable(attached.status())) {
      return Refuse(attached.status());  // the service stops
    } else {
      accepted->job = nullptr;  // it has just ended; the table is about to say how
    }
  }
  bool closed = false;
  {
    absl::MutexLock lock(&mutex_);
    closed = phase_ == Phase::kClosed;
    // Accepted would say that it lacks no frame.
    if (!closed && jobs::HasEnded(job.state) && !job.error.ok()) {
      job_id_ = job.id;
      Close(accepted->is_new ? job.error : EndedAlready(job));
    } else if (!closed) {
      job_ = accepted->job;
      stream_ = stream;
      began_job_ = accepted->is_new;
      is_proven_ = accepted->is_proven;
      job_id_ = job.id;
      v1::Accepted& message = *accepted_.emplace().mutable_accepted();
      message.set_job_id(job.id);
      message.set_next_frame_index(job.progress.frames_total);
      phase_ = Phase::kResult;
      if (job_ != nullptr) {
        phase_ = Phase::kFrames;
        frame_bytes_ = recon::FrameBytes(job_->request().acquisition);
        message.set_next_frame_index(job_->input().prefix);
      }
      *message.mutable_grid() = wire::ToProto(job.grid);
      message.set_peak_bytes(accepted->peak_bytes);
      message.set_predicted_seconds(accepted->predicted_seconds);
      message.set_node(shared_.cluster.node_name());
      std::weak_ptr<AcquisitionStream> weak = shared_from_this();
      auto subscription = shared_.table.Subscribe(job.id, [weak] {
        if (const auto self = weak.lock()) self->OnJobChanged();
      });
      if (subscription.ok()) subscription_ = *std::move(subscription);
      last_activity_ = SteadyNow();
      ReadNext();
      Pump();
    }
  }
  if (closed && accepted->job != nullptr) accepted->job->Detach(stream);
}

absl::Status AcquisitionStream::HandleFrame(RawMessage::Frame raw) {
  std::shared_ptr<pipeline::ReconstructionJob> job;
  int64_t stream = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (job_ == nullptr) return absl::OkStatus();  // refused meanwhile
    job = job_;
    stream = stream_;
  }
  pipeline::Frame frame{.index = raw.fields.index(),
                        .pixels = std::move(raw.pixels),
                        .memory = std::move(raw.memory),
                        .dose = raw.fields.dose(),
                        .phase = raw.phase()};
  // Who sends a checksum means it, also without the flag.
  if (raw.fields.has_checksum() || raw.fields.crc32c() != 0) frame.crc32c = raw.fields.crc32c();
  if (raw.fields.has_measured_matrix()) {
    const absl::StatusOr<ProjectionMatrix> matrix =
        wire::MatrixFromProto(raw.fields.measured_matrix());
    if (!matrix.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("frame.measured_matrix of frame ", frame.index,
                                                     ": ", matrix.status().message()));
    }
    frame.measured_matrix = *matrix;
  }
  if (stream == 0) {
    ISO_RETURN_IF_ERROR(job->CheckFrame(frame));
    ISO_ASSIGN_OR_RETURN(stream, TakeOver(*job));
  }
  ISO_ASSIGN_OR_RETURN(const bool room, job->AddFrame(stream, std::move(frame)));
  if (room) OnRoom();  // else the job calls when there is
  return absl::OkStatus();
}

absl::StatusOr<int64_t> AcquisitionStream::TakeOver(pipeline::ReconstructionJob& job) {
  ISO_ASSIGN_OR_RETURN(const int64_t stream, job.Attach(weak_from_this()));
  KeepAttached(job, stream);
  return stream;
}

void AcquisitionStream::KeepAttached(pipeline::ReconstructionJob& job, int64_t stream) {
  {
    absl::MutexLock lock(&mutex_);
    if (phase_ != Phase::kClosed) {
      stream_ = stream;
      return;
    }
  }
  job.Detach(stream);
}

absl::Status AcquisitionStream::HandleFinish(const v1::Finish& finish) {
  ISO_RETURN_IF_ERROR(wire::CheckExposure("finish.exposure", finish.exposure()));
  std::shared_ptr<pipeline::ReconstructionJob> job;
  int64_t stream = 0;
  bool is_proven = false;
  {
    absl::MutexLock lock(&mutex_);
    if (phase_ == Phase::kResult && job_ != nullptr) {
      return absl::FailedPreconditionError("finish came twice; legal is once");
    }
    job = job_;
    stream = stream_;
    is_proven = is_proven_;
  }
  if (job != nullptr && stream == 0) {
    if (is_proven) {
      ISO_ASSIGN_OR_RETURN(stream, TakeOver(*job));
    } else {
      ISO_ASSIGN_OR_RETURN(stream, job->AttachIfFree(weak_from_this()));
      if (stream != 0) KeepAttached(*job, stream);
    }
    if (stream == 0) job = nullptr;  // another stream will say when all is sent
  }
  if (finish.has_exposure() && job != nullptr) {
    shared_.table.Update(job->id(), [&](jobs::Job& changed) {
      const v1::Exposure& measured = finish.exposure();
      jobs::AcquisitionFacts& facts = changed.facts;
      if (measured.tube_current_ma() > 0) facts.tube_current_ma = measured.tube_current_ma();
      if (measured.exposure_mas() > 0) facts.exposure_mas = measured.exposure_mas();
      if (measured.dose_area_product_dgycm2() > 0) {
        facts.dose_area_product_dgycm2 = measured.dose_area_product_dgycm2();
      }
    });
  }
  if (job != nullptr) ISO_RETURN_IF_ERROR(job->FinishInput(stream));
  absl::MutexLock lock(&mutex_);
  if (phase_ == Phase::kClosed) return absl::OkStatus();
  phase_ = Phase::kResult;
  ReadNext();
  Pump();
  return absl::OkStatus();
}

}  // namespace isocenter::rpc
