#include "client/acquisition_stream.h"

#include <algorithm>
#include <stop_token>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/acquisition_state.h"
#include "client/failover.h"
#include "client/frame_message.h"
#include "client/nodes.h"
#include "client/opening.h"
#include "client/rpc_status.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_clock.h"
#include "proto/text/utf8_fields.h"
#include "proto/wire/acquisition.h"

namespace isocenter::client {
namespace {

// For the answer to an attempt under way, when Open is to end.
constexpr absl::Duration kToBeAnswered = absl::Seconds(1);

absl::Status Stopped() {
  return absl::CancelledError("stopped before the server had admitted the acquisition");
}

/// Less after a stop.
void Sleep(absl::Duration duration, const std::stop_token& stop) {
  absl::Mutex mutex;
  bool stopped = false;
  const std::stop_callback wake(stop, [&] {
    absl::MutexLock lock(&mutex);
    stopped = true;
  });
  absl::MutexLock lock(&mutex);
  AwaitFor(mutex, absl::Condition(&stopped), duration);
}

/// Until there is a connection, a stop, or `deadline`, of SteadyNow, has come.
void AwaitConnection(grpc::Channel& channel, absl::Time deadline, const std::stop_token& stop) {
  constexpr absl::Duration kBetweenLooks = absl::Milliseconds(100);  // gRPC's wait has no end
  while (!stop.stop_requested() && SteadyNow() < deadline) {
    const absl::Duration look = std::min(deadline - SteadyNow(), kBetweenLooks);
    if (channel.WaitForConnected(DeadlineIn(look))) return;
  }
}

/// What gRPC would send, and the server could only call an unreadable message.
absl::Status CheckTexts(const v1::AcquisitionHeader& header) {
  const std::string wrong = text::NotUtf8Field(header);
  return wrong.empty() ? absl::OkStatus()
                       : absl::InvalidArgumentError(absl::StrCat(wrong, "; legal is UTF-8"));
}

bool AnotherNodeMayTake(const absl::Status& refusal) {
  // A node whose connection broke may have admitted the acquisition, and is asked again first.
  if (BreakOf(refusal) == Break::kConnection) return false;
  return absl::IsResourceExhausted(refusal) || absl::IsUnavailable(refusal) ||
         absl::IsDeadlineExceeded(refusal);
}

/// The nodes behind the channel. They must be known before a scan begins: without their names a
/// proxy would send what takes it up again to any of them, and nothing could take it elsewhere. So
/// what nobody answers is an UNAVAILABLE that Repeat tries again; where nobody listens at all, or
/// the question is refused, the call itself is to say why: no nodes.
absl::StatusOr<std::vector<std::string>> NodesBehind(const ServiceChannel& channel,
                                                     const AcquisitionStreamOptions& options) {
  absl::StatusOr<std::vector<std::string>> nodes =
      ListNodes(channel, options.admission_timeout, options.stop);
  if (nodes.ok()) return nodes;
  const Break how = BreakOf(nodes.status());
  if (how == Break::kHandshake || how == Break::kMismatch || how == Break::kConnection) {
    return nodes;
  }
  const bool may_answer_soon = absl::IsDeadlineExceeded(nodes.status()) ||
                               (absl::IsUnavailable(nodes.status()) && how != Break::kUnreachable);
  if (!may_answer_soon) return std::vector<std::string>();
  return AsBreak(absl::UnavailableError(nodes.status().message()), Break::kHandshake);
}

}  // namespace

AcquisitionStream::AcquisitionStream(std::unique_ptr<State> state) : state_(std::move(state)) {}

AcquisitionStream::~AcquisitionStream() {
  Cancel();
  state_->thread.join();
}

absl::StatusOr<std::unique_ptr<AcquisitionStream>> AcquisitionStream::Start(
    const ServiceChannel& channel, const v1::AcquisitionHeader& header, v1::AcquireRequest opening,
    AcquisitionStreamOptions options, absl::Duration limit, const std::vector<std::string>& nodes,
    const std::string& node) {
  ISO_ASSIGN_OR_RETURN(const int64_t frame_bytes, wire::CheckedFrameBytes(header));
  if (options.stop.stop_requested()) return Stopped();
  auto state =
      std::make_unique<State>(channel, std::move(options), header, frame_bytes, nodes, node);
  State& s = *state;
  s.thread = std::thread(
      [&s, opening = std::move(opening), limit]() mutable { s.Run(std::move(opening), limit); });
  // From here on the destructor ends the call and joins the thread.
  auto stream = std::unique_ptr<AcquisitionStream>(new AcquisitionStream(std::move(state)));
  // A condition is looked at when the mutex is released.
  const std::stop_callback wake(s.options.stop, [&s] { absl::MutexLock look(&s.mutex); });
  absl::MutexLock lock(&s.mutex);
  const auto answered = [&s]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(s.mutex) {
    return s.accepted.has_value() || s.ended.has_value();
  };
  const auto answered_or_stopped = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(s.mutex) {
    return answered() || s.options.stop.stop_requested();
  };
  s.mutex.Await(absl::Condition(&answered_or_stopped));
  AwaitFor(s.mutex, absl::Condition(&answered), kToBeAnswered);
  if (s.accepted) return stream;
  if (!s.ended) return Stopped();
  if (!s.ended->ok()) return *s.ended;
  return absl::InternalError("the server ended the call without an answer");
}

absl::StatusOr<std::unique_ptr<AcquisitionStream>> AcquisitionStream::OpenOnce(
    const ServiceChannel& channel, const v1::AcquisitionHeader& header,
    const AcquisitionStreamOptions& options) {
  v1::AcquireRequest opening;
  *opening.mutable_header() = header;
  ISO_ASSIGN_OR_RETURN(const std::vector<std::string> nodes, NodesBehind(channel, options));
  if (nodes.empty()) {
    return Start(channel, header, std::move(opening), options, options.admission_timeout, nodes,
                 "");
  }
  absl::Status refusal;
  bool all_answered = true;
  std::vector<std::string> ranked =
      RankNodes(channel, nodes, header, options.admission_timeout, options.stop);
  if (ranked.empty()) ranked = nodes;  // the call itself is to say why
  for (const std::string& node : ranked) {
    const absl::Duration limit = node == ranked.back()
                                     ? options.admission_timeout
                                     : std::min(options.admission_timeout, kToBeTaken);
    auto stream = Start(channel, header, opening, options, limit, nodes, node);
    if (stream.ok() || !AnotherNodeMayTake(stream.status())) return stream;
    // That of the best which said anything.
    if (refusal.ok() || absl::IsDeadlineExceeded(refusal)) refusal = stream.status();
    all_answered &= BreakOf(stream.status()) == Break::kNone;
  }
  // A node that drains is not the last word while others are out of reach for a moment.
  const bool others_may_take = !all_answered && absl::IsUnavailable(refusal);
  return others_may_take ? AsBreak(std::move(refusal), Break::kHandshake) : refusal;
}

absl::StatusOr<std::unique_ptr<AcquisitionStream>> AcquisitionStream::Repeat(
    const ServiceChannel& channel, const AcquisitionStreamOptions& options,
    const Attempt& attempt) {
  Opening opening(options.reconnect_timeout);
  for (;;) {
    auto stream = attempt();
    if (stream.ok()) return stream;
    if (options.stop.stop_requested()) return Stopped();
    ISO_RETURN_IF_ERROR(opening.MayRepeat(stream.status(), SteadyNow()));
    if (options.on_interrupted) options.on_interrupted(stream.status());
    Sleep(opening.Pause(), options.stop);
    const absl::Time now = SteadyNow();
    AwaitConnection(*channel.grpc_channel(), now + opening.Left(now), options.stop);
    if (options.stop.stop_requested()) return Stopped();
  }
}

absl::Status CheckTraceParent(absl::string_view text) {
  constexpr size_t kLength = 55;
  bool legal = text.size() == kLength;
  for (size_t i = 0; i < text.size() && legal; ++i) {
    const char c = text[i];
    const bool is_dash = i == 2 || i == 35 || i == 52;
    legal = is_dash ? c == '-' : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  }
  if (legal) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the traceparent is '", text.substr(0, 100),
      "'; legal is VERSION-TRACE-SPAN-FLAGS of 2, 32, 16 and 2 digits of 0-9 and a-f, e.g. "
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
}

absl::StatusOr<std::unique_ptr<AcquisitionStream>> AcquisitionStream::Open(
    const ServiceChannel& channel, const v1::AcquisitionHeader& header,
    AcquisitionStreamOptions options) {
  ISO_RETURN_IF_ERROR(CheckTexts(header));
  if (!options.trace_parent.empty()) {
    ISO_RETURN_IF_ERROR(CheckTraceParent(options.trace_parent));
  }
  v1::AcquisitionHeader named = header;
  if (named.request_id().empty()) named.set_request_id(NewRequestId());
  return Repeat(channel, options, [&] { return OpenOnce(channel, named, options); });
}

absl::StatusOr<std::unique_ptr<AcquisitionStream>> AcquisitionStream::Resume(
    const ServiceChannel& channel, const v1::AcquisitionHeader& header, const std::string& job_id,
    AcquisitionStreamOptions options) {
  ISO_RETURN_IF_ERROR(CheckTexts(header));
  const Attempt attempt = [&]() -> absl::StatusOr<std::unique_ptr<AcquisitionStream>> {
    ISO_ASSIGN_OR_RETURN(const std::vector<std::string> nodes, NodesBehind(channel, options));
    const std::string node =
        NodeOfJob(channel, nodes, job_id, options.admission_timeout, options.stop);
    return Start(channel, header, ResumeRequest(job_id, header), options, options.admission_timeout,
                 nodes, node);
  };
  return Repeat(channel, options, attempt);
}

const v1::Accepted& AcquisitionStream::accepted() const {
  absl::MutexLock lock(&state_->mutex);
  return *state_->accepted;  // set before Open returns, and never again
}

absl::Status AcquisitionStream::SendFrame(uint32_t index, std::span<const std::byte> pixels,
                                          const std::optional<ProjectionMatrix>& measured,
                                          float dose, std::optional<float> phase) {
  return state_->Send(index, CopyPixels(pixels), measured, dose, phase);
}

absl::Status AcquisitionStream::SendFrame(uint32_t index, std::vector<std::byte>&& pixels,
                                          const std::optional<ProjectionMatrix>& measured,
                                          float dose, std::optional<float> phase) {
  return state_->Send(index, OwnPixels(std::move(pixels)), measured, dose, phase);
}

absl::StatusOr<v1::JobResult> AcquisitionStream::Finish() {
  State& s = *state_;
  ISO_RETURN_IF_ERROR(s.CheckCaller("Finish"));
  absl::MutexLock lock(&s.mutex);
  s.finish_requested = true;
  s.StartNextWrite();
  s.mutex.Await(absl::Condition(
      +[](std::optional<absl::Status>* status) { return status->has_value(); }, &s.ended));
  if (!s.ended->ok()) return *s.ended;
  if (!s.result) return absl::InternalError("the server ended the call without a result");
  return *s.result;
}

void AcquisitionStream::Cancel() {
  absl::MutexLock lock(&state_->mutex);
  if (state_->ended) return;
  state_->cancelled = true;
  if (state_->call != nullptr) state_->call->context.TryCancel();
}

int64_t AcquisitionStream::acknowledged_frames() const {
  absl::MutexLock lock(&state_->mutex);
  return state_->window.acknowledged();
}

std::string AcquisitionStream::node() const {
  absl::MutexLock lock(&state_->mutex);
  return state_->node;
}

int64_t AcquisitionStream::reconnects() const {
  absl::MutexLock lock(&state_->mutex);
  return state_->reconnects;
}

}  // namespace isocenter::client
