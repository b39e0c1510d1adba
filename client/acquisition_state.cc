#include "client/acquisition_state.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/frame_message.h"
#include "client/nodes.h"
#include "client/rpc_status.h"
#include "isocenter/v1/acquisition.grpc.pb.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_clock.h"
#include "kernels/recon/completeness/frame_bytes.h"
#include "proto/wire/acquisition.h"
#include "proto/wire/geometry.h"

namespace isocenter::client {
namespace {

// A call that lasted so long has moved the acquisition on, even if no frame was left to send.
constexpr absl::Duration kMovedOn = absl::Seconds(5);
// For a node whose turn it is to be tried again.
constexpr absl::Duration kLeastToAnswer = absl::Seconds(1);

// For a write that was under way when its call ended. One that the transport has begun ends with
// the connection, which may be half a minute later: a proxy reads no more of it while it cannot get
// rid of what it has for a node that hangs.
constexpr absl::Duration kToBeWritten = absl::Milliseconds(100);

// gRPC itself tries to connect at least so often, but waits until a time of the system's clock for
// it: set back meanwhile, by an hour and more.
constexpr absl::Duration kBetweenConnects = absl::Seconds(2);

// gRPC hands their addresses back, as pointers to what it never touches.
constexpr CallEvent kEvents[] = {kStarted, kRead, kWritten, kFinished};
void* Tag(CallEvent event) { return const_cast<CallEvent*>(&kEvents[event]); }

std::string AcquireMethod() {
  return absl::StrCat("/", v1::AcquisitionService::service_full_name(), "/Acquire");
}

/// Until nothing is left of a call.
void Drain(grpc::CompletionQueue& queue) {
  queue.Shutdown();
  void* none = nullptr;
  bool ok = false;
  while (queue.Next(&none, &ok)) {
  }
}

grpc::ByteBuffer Serialize(const v1::AcquireRequest& request) {
  const grpc::Slice bytes(request.SerializeAsString());
  return grpc::ByteBuffer(&bytes, 1);
}

}  // namespace

v1::AcquireRequest ResumeRequest(const std::string& job_id, const v1::AcquisitionHeader& header) {
  v1::AcquireRequest request;
  request.mutable_resume()->set_job_id(job_id);
  *request.mutable_resume()->mutable_header() = header;
  return request;
}

void AcquisitionStream::State::StartNextWrite() {
  if (writable == nullptr || writing) return;
  if (const grpc::ByteBuffer* message = window.Next()) {
    writing = true;
    writable->Write(*message, Tag(kWritten));
  } else if (finish_requested && !finish_written) {
    v1::AcquireRequest request;
    request.mutable_finish();
    finish_written = true;
    writing = true;
    writable->WriteLast(Serialize(request), grpc::WriteOptions(), Tag(kWritten));
  }
  // Verdict says so.
  if (!window.failure().ok() && call != nullptr) call->context.TryCancel();
}

std::vector<uint32_t> AcquisitionStream::State::Accept(const v1::Accepted& answer, Call& c) {
  c.accepted = SteadyNow();
  if (!accepted) accepted = answer;
  job_id = answer.job_id();
  if (c.again) ++reconnects;
  if (!c.moves) return window.Rewind(answer.next_frame_index());
  failover.Arrived(c.node, std::exchange(node, c.node));
  return window.Restart(answer.next_frame_index());
}

absl::Status AcquisitionStream::State::AcceptedAgain(const v1::Accepted& answer) const {
  if (!window.WasReleased(answer.next_frame_index())) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the server lacks frame ", answer.next_frame_index(),
                                          " of job ", answer.job_id(),
                                          ", which it had acknowledged"));
}

void AcquisitionStream::State::Handle(const v1::AcquireResponse& response, Call& c) {
  std::vector<uint32_t> acknowledged;
  int64_t before = 0, after = 0;
  {
    absl::MutexLock lock(&mutex);
    before = window.acknowledged();
    if (response.has_accepted()) {
      if (c.again && !c.moves) {
        if (absl::Status status = AcceptedAgain(response.accepted()); !status.ok()) {
          broken_promise = std::move(status);
          c.context.TryCancel();
          return;
        }
      }
      acknowledged = Accept(response.accepted(), c);
      writable = c.stream.get();
      StartNextWrite();
    } else if (response.has_acknowledgement()) {
      acknowledged = window.Acknowledge(response.acknowledgement());
    } else if (response.has_result()) {
      result = response.result();
    }
    after = window.acknowledged();
  }
  if (after > before || !acknowledged.empty()) c.moved_on = true;
  if (c.moves && response.has_accepted()) Tell("on_moved", options.on_moved, c.node);
  for (const uint32_t index : acknowledged) Tell("on_acknowledged", options.on_acknowledged, index);
  if (response.has_progress()) Tell("on_progress", options.on_progress, response.progress());
  if (response.has_warning()) Tell("on_warning", options.on_warning, response.warning());
  if (response.has_preview()) Tell("on_preview", options.on_preview, response.preview());
  if (!callback_failure.ok()) c.context.TryCancel();
}

template <class Argument>
void AcquisitionStream::State::Tell(absl::string_view name,
                                    const std::function<void(Argument)>& callback,
                                    std::type_identity_t<Argument> argument) {
  if (!callback || !callback_failure.ok()) return;
  // What is thrown here would end the console, of which this thread is none of its own.
  try {
    callback(argument);
  } catch (const std::exception& thrown) {
    callback_failure = absl::UnknownError(absl::StrCat(name, " threw: ", thrown.what()));
  } catch (...) {
    callback_failure = absl::UnknownError(absl::StrCat(name, " threw what is no std::exception"));
  }
}

absl::Status AcquisitionStream::State::CheckCaller(absl::string_view function) const {
  if (std::this_thread::get_id() != own_thread.load()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(function,
                   " was called from a function of AcquisitionStreamOptions, whose "
                   "return it would wait for; legal is from the console's own threads"));
}

absl::Status AcquisitionStream::State::RunCall(const v1::AcquireRequest& opening,
                                               absl::Duration limit, Call& c) {
  {
    absl::MutexLock lock(&mutex);
    if (cancelled) return absl::CancelledError("cancelled by the console");
    c.stream = RawStub(channel.grpc_channel()).PrepareCall(&c.context, AcquireMethod(), &c.queue);
    call = &c;
    finish_written = false;
  }
  c.stream->StartCall(Tag(kStarted));
  HandleEvents(opening, SteadyNow() + limit, c);
  {
    absl::MutexLock lock(&mutex);
    call = nullptr;
    c.stuck = std::exchange(writing, false);
  }
  if (!c.stuck) Drain(c.queue);
  // What was sent may fill the connection to the proxy: nothing passes it there.
  if (c.stuck || c.silent) channel = channel.Anew();
  c.moved_on = c.moved_on || SteadyNow() - c.accepted > kMovedOn;
  return EndOf(c, limit);
}

void AcquisitionStream::State::HandleEvents(const v1::AcquireRequest& opening,
                                            absl::Time admission_deadline, Call& c) {
  absl::Time end = absl::InfiniteFuture();
  for (;;) {
    void* tag = nullptr;
    bool ok = false;
    const absl::Time until = c.finished ? end : NextLook(c, admission_deadline);
    if (c.queue.AsyncNext(&tag, &ok, DeadlineIn(until - SteadyNow())) ==
        grpc::CompletionQueue::TIMEOUT) {
      if (c.finished) return;
      if (!c.answered && SteadyNow() < admission_deadline) {
        grpc::experimental::ChannelResetConnectionBackoff(channel.grpc_channel().get());
      } else {
        WaitedInVain(c);
      }
      continue;
    }
    OnEvent(*static_cast<const CallEvent*>(tag), ok, opening, c);
    if (!c.finished) continue;
    end = std::min(end, SteadyNow() + kToBeWritten);
    absl::MutexLock lock(&mutex);
    if (!writing) return;
  }
}

absl::Time AcquisitionStream::State::NextLook(const Call& c, absl::Time admission_deadline) const {
  if (c.late || c.silent) return absl::InfiniteFuture();  // it has been cancelled
  if (!c.answered) return std::min(admission_deadline, SteadyNow() + kBetweenConnects);
  // What has no other to go to waits for the transport.
  return failover.possible() ? c.heard + failover.ask_after() : absl::InfiniteFuture();
}

void AcquisitionStream::State::WaitedInVain(Call& c) {
  if (c.answered) {
    // A proxy holds the connection of a node that is gone; one that is busy says so.
    const std::string job = [this] {
      absl::MutexLock lock(&mutex);
      return job_id;
    }();
    if (failover.Answers(c.node, job)) {
      c.heard = SteadyNow();
      return;
    }
    c.silent = true;
  } else {
    c.late = true;
  }
  c.context.TryCancel();
}

absl::Status AcquisitionStream::State::EndOf(const Call& c, absl::Duration limit) const {
  if (c.silent) {
    return absl::UnavailableError(absl::StrCat("node '", c.node, "' does not answer any more"));
  }
  if (!c.answered && c.late) {
    // An unanswered attempt to take the job up again says nothing about the job.
    if (c.again) return absl::UnavailableError("the server cannot be reached or does not answer");
    constexpr absl::Duration kShortest = absl::Milliseconds(1);
    return absl::DeadlineExceededError(
        limit < kShortest
            ? "the server did not admit the acquisition in the time that was left for it"
            : absl::StrCat("the server did not admit the acquisition within ",
                           absl::FormatDuration(absl::Trunc(limit, kShortest))));
  }
  return FromGrpc(c.status, c.context);
}

void AcquisitionStream::State::OnEvent(CallEvent event, bool ok, const v1::AcquireRequest& opening,
                                       Call& c) {
  switch (event) {
    case kStarted:
      if (!ok) return c.stream->Finish(&c.status, Tag(kFinished));
      {
        absl::MutexLock lock(&mutex);
        writing = true;
      }
      c.stream->Write(Serialize(opening), Tag(kWritten));
      return c.stream->Read(&c.response, Tag(kRead));
    case kRead:
      if (ok) {
        c.answered = true;
        c.heard = SteadyNow();
        Handle(c.response, c);
        c.stream->Read(&c.response, Tag(kRead));
      } else {
        absl::MutexLock lock(&mutex);
        writable = nullptr;
        c.stream->Finish(&c.status, Tag(kFinished));
      }
      return;
    case kWritten: {
      absl::MutexLock lock(&mutex);
      writing = false;
      if (!ok) writable = nullptr;
      return StartNextWrite();
    }
    case kFinished:
      c.finished = true;
      return;
  }
}

std::optional<absl::Status> AcquisitionStream::State::Verdict(absl::Status status, const Call& c,
                                                              Reconnect& reconnect) {
  absl::MutexLock lock(&mutex);
  if (cancelled) return absl::CancelledError("cancelled by the console");
  if (broken_promise) return broken_promise;
  if (!callback_failure.ok()) return callback_failure;
  if (result) return absl::OkStatus();  // what ends the call after it does not matter
  if (!window.failure().ok()) return window.failure();
  if (!accepted || status.ok()) return status;
  if (c.moves && c.accepted == absl::InfiniteFuture()) {
    // What another node says of it does not end it.
    status = absl::UnavailableError(absl::StrCat("node '", node, "' is away, and node '", c.node,
                                                 "' does not go on: ", status.message()));
  }
  if (absl::IsNotFound(status) && c.again) {
    const std::string why = absl::StrCat("the connection broke and the server does not know job ",
                                         job_id, " any more: ", status.message());
    if (!failover.possible() || !window.CanBeSentAgain().ok()) return absl::NotFoundError(why);
    // A node that came back without its disk has lost what another can have again.
    status = absl::UnavailableError(why);
  }
  const absl::Time broken_since = c.silent ? c.heard : SteadyNow();
  absl::Status verdict = reconnect.MayTryAgain(status, c.moved_on, broken_since);
  const absl::Status before = std::exchange(last_break, status);
  if (verdict.ok()) return std::nullopt;
  if (const absl::Status kept = window.CanBeSentAgain(); failover.possible() && !kept.ok()) {
    verdict = absl::Status(
        verdict.code(),
        absl::StrCat(verdict.message(), "; it cannot go to another node: ", kept.message()));
  }
  if (!c.again || c.accepted != absl::InfiniteFuture() || before.code() == status.code()) {
    return verdict;
  }
  // Why a job cannot be taken up is often said by what broke it: it was cancelled, or failed.
  return absl::Status(
      verdict.code(),
      absl::StrCat(verdict.message(), " (the stream had ended with ", before.ToString(), ")"));
}

v1::AcquireRequest AcquisitionStream::State::GoOn(const Reconnect& reconnect, Call& c) {
  v1::AcquireRequest move;
  {
    absl::MutexLock lock(&mutex);
    c.again = true;
    c.node = node;
    const bool may_move = failover.possible() && absl::IsUnavailable(last_break) &&
                          reconnect.Lasted(SteadyNow()) >= failover.after() &&
                          window.CanBeSentAgain().ok();
    if (!may_move) return ResumeRequest(job_id, header);
    move = MoveRequest(job_id, header);
  }
  std::string next = failover.Next(move, c.node);
  c.moves = next != c.node;
  if (!c.moves) return ResumeRequest(move.header().continues_job_id(), header);
  c.node = std::move(next);
  return move;
}

void AcquisitionStream::State::Run(v1::AcquireRequest opening, absl::Duration limit) {
  own_thread = std::this_thread::get_id();
  Reconnect reconnect(options.reconnect_timeout);
  for (bool again = false;; again = true) {
    auto owned = std::make_unique<Call>();
    Call& c = *owned;
    if (again) {
      opening = GoOn(reconnect, c);
      limit = std::min(options.admission_timeout, reconnect.Left(SteadyNow()));
      if (failover.possible() && !c.moves) {
        const absl::Duration until_others = failover.after() - reconnect.Lasted(SteadyNow());
        limit = std::min(limit, std::max(until_others, kLeastToAnswer));
      }
      if (c.moves) limit = std::min(limit, kToBeTaken);
    } else {
      absl::MutexLock lock(&mutex);
      c.node = node;
    }
    // A call that waits for its connection has gRPC watch it; without one, it would look only every
    // five seconds.
    c.context.set_wait_for_ready(again);
    if (!c.node.empty()) c.context.AddMetadata(kNodeMetadata, c.node);
    if (!options.trace_parent.empty()) c.context.AddMetadata("traceparent", options.trace_parent);
    const absl::Status broken = RunCall(opening, limit, c);
    std::optional<absl::Status> verdict = Verdict(broken, c, reconnect);
    if (c.stuck) {  // nobody waits for it
      std::thread([left = std::move(owned)] { Drain(left->queue); }).detach();
    }
    if (!verdict) Tell("on_interrupted", options.on_interrupted, broken);
    absl::ReleasableMutexLock lock(&mutex);
    if (!verdict && !callback_failure.ok()) verdict = callback_failure;
    if (verdict) {
      ended = std::move(verdict);
      const std::string job = job_id;
      lock.Release();
      return failover.Withdraw(job);
    }
    absl::Duration pause = reconnect.Pause();
    const absl::Duration until_others = failover.after() - reconnect.Lasted(SteadyNow());
    if (failover.possible()) {  // another node is not kept waiting
      const bool yet = until_others > absl::ZeroDuration();
      pause = std::min(pause, yet ? until_others : failover.LongestPause());
    }
    AwaitFor(mutex, absl::Condition(&cancelled), pause);
  }
}

absl::Status AcquisitionStream::State::Send(uint32_t index, const grpc::Slice& pixels,
                                            const std::optional<ProjectionMatrix>& measured,
                                            float dose, std::optional<float> phase) {
  ISO_RETURN_IF_ERROR(CheckCaller("SendFrame"));
  if (index >= frame_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame index is ", index, "; legal is 0 to ", frame_count - 1));
  }
  if (static_cast<int64_t>(pixels.size()) != frame_bytes) {
    ISO_ASSIGN_OR_RETURN(const Detector detector, wire::DetectorFromProto(header.detector()));
    ISO_ASSIGN_OR_RETURN(const recon::PixelType type,
                         wire::PixelTypeFromProto(header.pixel_type()));
    return recon::CheckFrameBytes(index, static_cast<int64_t>(pixels.size()), detector, type);
  }
  ISO_RETURN_IF_ERROR(CheckFrameValues(index, measured, dose, phase));
  const grpc::ByteBuffer message = FrameMessage(index, pixels, measured, dose, phase);
  const auto bytes = static_cast<int64_t>(message.Length());
  absl::MutexLock lock(&mutex);
  const auto go_on = [this, index, bytes]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return ended.has_value() || window.Has(index) || window.HasRoomFor(bytes);
  };
  mutex.Await(absl::Condition(&go_on));
  // Where there is a result the frame came after it had been replaced, of which the job warned.
  if (ended) return *ended;
  if (window.LacksProof(index)) {
    window.AddProof(message);
  } else if (!window.Has(index)) {
    window.Add(index, message);
  } else {
    return absl::OkStatus();
  }
  StartNextWrite();
  return absl::OkStatus();
}

}  // namespace isocenter::client
