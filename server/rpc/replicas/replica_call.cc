#include "server/rpc/replicas/replica_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/geometry.h"
#include "server/base/log.h"
#include "server/pipeline/acquisition_request.h"
#include "server/rpc/message_limits.h"
#include "server/rpc/translation/status_translation.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {
namespace {

/// Of answers that the origin does not read, before it is read from any more.
constexpr size_t kMostAnswers = 64;
constexpr int64_t kLongestReplicaHeaderBytes =
    static_cast<int64_t>(replicas::kMostAcquisitionBytes) + kLongestFinishBytes;

/// What a copy has, of both kinds.
void FillPresent(const std::vector<jobs::FrameState>& states, v1::ReplicaBegun& begun) {
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i] == jobs::FrameState::kMissing) continue;
    const bool goes_on = i > 0 && states[i - 1] != jobs::FrameState::kMissing;
    v1::FrameRange& range =
        goes_on ? *begun.mutable_present(begun.present_size() - 1) : *begun.add_present();
    if (!goes_on) range.set_first(static_cast<uint32_t>(i));
    range.set_last(static_cast<uint32_t>(i));
  }
}

}  // namespace

absl::Status CheckOriginOf(const Permit& permit, const v1::ReplicaOrigin& origin,
                           const std::vector<v1::ReplicaOriginConfig>& origins) {
  const bool is_known = std::ranges::any_of(origins, [&](const v1::ReplicaOriginConfig& known) {
    return known.node() == origin.node() &&
           known.certificate_subject() == permit.actor.certificate_subject;
  });
  if (is_known) return absl::OkStatus();
  constexpr size_t kShown = 64;
  return absl::PermissionDeniedError(absl::StrCat(
      "the caller with certificate '", permit.actor.certificate_subject, "' says that it is node '",
      origin.node().substr(0, kShown), "'; legal are those of cluster.replication.origin"));
}

ReplicaCall* ReplicaCall::Start(ReplicaContext& shared, grpc::CallbackServerContext* call) {
  std::shared_ptr<ReplicaCall> made(new ReplicaCall(shared, call));
  made->self_ = made;
  const absl::Status admitted = made->Admit();
  absl::MutexLock lock(&made->mutex_);
  if (admitted.ok()) {
    made->ReadNext();
  } else {
    made->Close(admitted);
  }
  return made.get();
}

ReplicaCall::ReplicaCall(ReplicaContext& shared, grpc::CallbackServerContext* call)
    : shared_(shared),
      call_(*call),
      token_(shared.calls),
      permit_(shared.guard.Ask(*call, "KeepReplica", roles::Role::kConsole)) {}

absl::Status ReplicaCall::Admit() const {
  ISO_RETURN_IF_ERROR(permit_.status);
  // Nothing is read of anybody else, whatever node he would say that he is.
  const bool is_origin =
      std::ranges::any_of(shared_.origins, [&](const v1::ReplicaOriginConfig& known) {
        return known.certificate_subject() == permit_.actor.certificate_subject;
      });
  if (!is_origin) return CheckOriginOf(permit_, {}, shared_.origins);
  if (token_.number() <= shared_.most_calls) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      token_.number(), " copies would be written at once; legal is at most ", shared_.most_calls));
}

void ReplicaCall::OnReadDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    if (phase_ == Phase::kClosed) return;
    if (!ok) {
      reading_ = false;
      has_ended_ = true;
      return Pump();
    }
  }
  const absl::Status handled = HandleMessage();
  if (!handled.ok()) {
    spdlog::warn("event=replica_refused caller=\"{}\" reason=\"{}\"", permit_.caller(),
                 handled.ToString());
  }
  absl::MutexLock lock(&mutex_);
  if (!handled.ok()) return Close(handled);
  // Not before: what an answer or a written frame lets in would be read over this message.
  reading_ = false;
  if (phase_ == Phase::kFrames && appends_ < pipeline::kMostAppends) ReadNext();
  Pump();
}

absl::Status ReplicaCall::HandleMessage() {
  const RawMessage raw(incoming_);
  incoming_.Clear();
  int64_t longest = kLongestReplicaHeaderBytes;
  bool is_header = false;
  {
    absl::MutexLock lock(&mutex_);
    is_header = phase_ == Phase::kHeader;
    if (!is_header) longest = frame_bytes_ + kFrameOverheadBytes;
  }
  if (raw.bytes() > longest) {
    return absl::InvalidArgumentError(absl::StrCat("the message has ", raw.bytes(),
                                                   " bytes; legal is at most ", longest, " here"));
  }
  if (is_header) return HandleHeader(raw);
  ISO_ASSIGN_OR_RETURN(std::optional<RawMessage::Frame> frame, raw.AsFrame());
  return frame ? HandleFrame(*std::move(frame)) : HandleRest(raw);
}

absl::Status ReplicaCall::HandleHeader(const RawMessage& raw) {
  v1::KeepReplicaRequest message;
  ISO_RETURN_IF_ERROR(raw.ParseAs(message));
  if (!message.has_header()) {
    return absl::FailedPreconditionError("the first message is no header; legal is one");
  }
  const v1::ReplicaHeader& told = message.header();
  ISO_RETURN_IF_ERROR(CheckOriginOf(permit_, told.origin(), shared_.origins));
  if (told.frame_bytes() > static_cast<uint64_t>(shared_.max_frame_bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("header.frame_bytes is ", told.frame_bytes(),
                                                   "; legal is 1 to ", shared_.max_frame_bytes,
                                                   " (limits.max_message_bytes)"));
  }
  replicas::ReplicaHeader header{.origin = {told.origin().node(), told.origin().spool_id()},
                                 .job_id = told.job_id(),
                                 .begun_by = told.begun_by(),
                                 .acquisition = told.acquisition(),
                                 .frames = told.frames(),
                                 .frame_bytes = static_cast<int64_t>(told.frame_bytes())};
  ISO_RETURN_IF_ERROR(replicas::CheckHeader(header));
  {
    absl::MutexLock lock(&mutex_);
    if (phase_ == Phase::kClosed) return absl::OkStatus();
    phase_ = Phase::kBeginning;
  }
  shared_.lane->Submit(
      [self = shared_from_this(), header = std::move(header)] { self->Begin(header); });
  return absl::OkStatus();
}

void ReplicaCall::Begin(const replicas::ReplicaHeader& header) {
  absl::StatusOr<std::shared_ptr<replicas::ReplicaStore::Writer>> writer =
      shared_.store.Begin(header);
  if (!writer.ok()) {
    spdlog::warn("event=replica_refused job={} origin={} reason=\"{}\"", header.job_id,
                 header.origin.node, writer.status().ToString());
  }
  absl::MutexLock lock(&mutex_);
  if (!writer.ok()) return Close(writer.status());
  if (phase_ == Phase::kClosed) return;
  writer_ = *std::move(writer);
  frames_ = header.frames;
  frame_bytes_ = header.frame_bytes;
  phase_ = Phase::kFrames;
  FillPresent(writer_->frames().states(), *answers_.emplace_back().mutable_begun());
  ReadNext();
  Pump();
}

absl::Status ReplicaCall::HandleFrame(RawMessage::Frame raw) {
  std::shared_ptr<replicas::ReplicaStore::Writer> writer;
  {
    absl::MutexLock lock(&mutex_);
    if (phase_ == Phase::kClosed) return absl::OkStatus();
    if (raw.fields.index() >= frames_) {
      return absl::InvalidArgumentError(
          absl::StrCat("frame.index is ", raw.fields.index(), "; legal is 0 to ", frames_ - 1));
    }
    writer = writer_;
    ++appends_;
  }
  if (!raw.fields.has_checksum()) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame ", raw.fields.index(), " has no checksum; legal is one with it"));
  }
  const int index = static_cast<int>(raw.fields.index());
  // The job at which it would be refused later has no console that could send it again.
  ISO_RETURN_IF_ERROR(ops::CheckGivenDose(index, raw.fields.dose()));
  const std::optional<float> phase = raw.phase();
  if (phase) {
    ISO_RETURN_IF_ERROR(CheckPhase(absl::StrCat("frame.phase of frame ", index), *phase));
  }
  jobs::SpoolFrame frame{.index = index,
                         .pixels = std::move(raw.pixels),
                         .crc32c = raw.fields.crc32c(),
                         .dose = raw.fields.dose(),
                         .phase = phase,
                         .memory = std::move(raw.memory)};
  if (raw.fields.has_measured_matrix()) {
    ISO_ASSIGN_OR_RETURN(frame.measured_matrix,
                         wire::MatrixFromProto(raw.fields.measured_matrix()));
  }
  writer->Touch();
  writer->frames().Append(std::move(frame),
                          [self = shared_from_this(), index](const absl::Status& status) {
                            self->OnAppended(index, status);
                          });
  return absl::OkStatus();
}

absl::Status ReplicaCall::HandleRest(const RawMessage& raw) {
  if (raw.bytes() > kLongestFinishBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the message has ", raw.bytes(),
                                                   " bytes and is no frame; legal is at most ",
                                                   kLongestFinishBytes));
  }
  v1::KeepReplicaRequest message;
  ISO_RETURN_IF_ERROR(raw.ParseAs(message));
  std::shared_ptr<replicas::ReplicaStore::Writer> writer;
  int64_t frames = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (phase_ == Phase::kClosed) return absl::OkStatus();
    writer = writer_;
    frames = frames_;
  }
  writer->Touch();
  switch (message.message_case()) {
    case v1::KeepReplicaRequest::kGap:
      if (message.gap().index() >= frames) {
        return absl::InvalidArgumentError(
            absl::StrCat("gap.index is ", message.gap().index(), "; legal is 0 to ", frames - 1));
      }
      ISO_RETURN_IF_ERROR(writer->frames().DeclareGap(static_cast<int>(message.gap().index())));
      break;
    case v1::KeepReplicaRequest::kFinish:
      ISO_RETURN_IF_ERROR(writer->frames().Finish());
      break;
    default:
      return absl::FailedPreconditionError(
          "message is a second header, unset or of a later version; legal are frame, gap and "
          "finish after the first");
  }
  absl::MutexLock lock(&mutex_);
  if (message.has_gap()) AnswerKept(static_cast<int>(message.gap().index()));
  return absl::OkStatus();
}

void ReplicaCall::OnAppended(int index, const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  --appends_;
  if (phase_ == Phase::kClosed) return;
  if (!status.ok()) {
    spdlog::warn("event=replica_refused caller=\"{}\" reason=\"{}\"", permit_.caller(),
                 status.ToString());
    return Close(status);
  }
  AnswerKept(index);
  ReadNext();
  Pump();
}

void ReplicaCall::AnswerKept(int index) {
  answers_.emplace_back().mutable_kept()->set_index(static_cast<uint32_t>(index));
}

void ReplicaCall::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  if (!ok) return Close(absl::CancelledError("the origin has gone"));
  if (read_waits_) ReadNext();
  Pump();
}

void ReplicaCall::OnCancel() {
  absl::MutexLock lock(&mutex_);
  Close(absl::CancelledError("the call was cancelled"));
}

void ReplicaCall::OnDone() {
  std::shared_ptr<ReplicaCall> last;
  std::shared_ptr<replicas::ReplicaStore::Writer> writer;
  absl::MutexLock lock(&mutex_);
  writer = std::move(writer_);
  last = std::move(self_);
}

void ReplicaCall::ReadNext() {
  if (finished_ || reading_ || has_ended_) return;
  read_waits_ = answers_.size() >= kMostAnswers;
  if (read_waits_) return;
  reading_ = true;
  StartRead(&incoming_);
}

void ReplicaCall::Close(const absl::Status& status) {
  if (phase_ != Phase::kClosed) {
    phase_ = Phase::kClosed;
    final_status_ = status;
  }
  Pump();
}

void ReplicaCall::Pump() {
  if (writing_ || finished_) return;
  if (phase_ != Phase::kClosed) {
    if (!answers_.empty()) {
      outgoing_ = BytesOf(answers_.front());
      answers_.pop_front();
      writing_ = true;
      StartWrite(&outgoing_);
      return;
    }
    // Of an origin that sends no more, what is on its way to the disk is still answered.
    if (!has_ended_ || appends_ > 0) return;
    phase_ = Phase::kClosed;
  }
  finished_ = true;
  Finish(ToGrpc(final_status_, call_));
}

}  // namespace isocenter::rpc
