#include "client/acquisition_stream.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/rpc_status.h"
#include "client/wire.h"
#include "isocenter/v1/acquisition.grpc.pb.h"
#include "kernels/base/crc32c.h"
#include "kernels/base/status_macros.h"

namespace isocenter::client {

/// The call and what its reading thread has learned. The caller's thread writes, `reader` reads and
/// ends the call, so that a server's error is seen at once and not only with the next write.
struct AcquisitionStream::State {
  AcquisitionStreamOptions options;
  std::unique_ptr<v1::AcquisitionService::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AcquireRequest, v1::AcquireResponse>> call;
  std::thread reader;

  mutable absl::Mutex mutex;
  std::optional<v1::Accepted> accepted ABSL_GUARDED_BY(mutex);
  std::optional<v1::JobResult> result ABSL_GUARDED_BY(mutex);
  int64_t acknowledged ABSL_GUARDED_BY(mutex) = 0;  // index after the last one taken over
  std::optional<absl::Status> ended ABSL_GUARDED_BY(mutex);

  void Read();
  absl::Status WaitUntilEnded() ABSL_LOCKS_EXCLUDED(mutex);
  bool WindowOpen(int64_t index) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return ended.has_value() || index - acknowledged < std::max(1, options.max_frames_in_flight);
  }
};

void AcquisitionStream::State::Read() {
  v1::AcquireResponse response;
  while (call->Read(&response)) {
    if (response.has_progress()) {
      if (options.on_progress) options.on_progress(response.progress());
      continue;
    }
    absl::MutexLock lock(&mutex);
    if (response.has_accepted()) {
      accepted = response.accepted();
      acknowledged = response.accepted().next_frame_index();
    } else if (response.has_acknowledgement()) {
      acknowledged = std::max(acknowledged, int64_t{response.acknowledgement().frame_index()} + 1);
    } else if (response.has_result()) {
      result = response.result();
    }
  }
  const absl::Status status = FromGrpc(call->Finish());
  absl::MutexLock lock(&mutex);
  ended = status;
}

absl::Status AcquisitionStream::State::WaitUntilEnded() {
  absl::MutexLock lock(&mutex);
  mutex.Await(absl::Condition(
      +[](std::optional<absl::Status>* status) { return status->has_value(); }, &ended));
  return *ended;
}

AcquisitionStream::AcquisitionStream(std::unique_ptr<State> state) : state_(std::move(state)) {}

AcquisitionStream::~AcquisitionStream() {
  state_->context.TryCancel();
  state_->reader.join();
}

absl::StatusOr<std::unique_ptr<AcquisitionStream>> AcquisitionStream::Open(
    const ServiceChannel& channel, const v1::AcquisitionHeader& header,
    AcquisitionStreamOptions options) {
  ISO_RETURN_IF_ERROR(CheckedFrameBytes(header).status());
  auto state = std::make_unique<State>();
  State& s = *state;
  const absl::Duration timeout = options.admission_timeout;
  s.options = std::move(options);
  s.stub = v1::AcquisitionService::NewStub(channel.grpc_channel());
  s.call = s.stub->Acquire(&s.context);
  s.reader = std::thread([&s] { s.Read(); });
  // From here on the destructor ends the call and joins the reader.
  auto stream = std::unique_ptr<AcquisitionStream>(new AcquisitionStream(std::move(state)));

  v1::AcquireRequest request;
  *request.mutable_header() = header;
  s.call->Write(request);  // a failure shows as the end of the call, below
  absl::MutexLock lock(&s.mutex);
  const auto answered = [&s]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(s.mutex) {
    return s.accepted.has_value() || s.ended.has_value();
  };
  if (!s.mutex.AwaitWithTimeout(absl::Condition(&answered), timeout)) {
    return absl::DeadlineExceededError(absl::StrCat(
        "the server did not admit the acquisition within ", absl::FormatDuration(timeout)));
  }
  if (s.accepted) return stream;
  if (!s.ended->ok()) return *s.ended;
  return absl::InternalError("the server ended the call without an answer");
}

const v1::Accepted& AcquisitionStream::accepted() const {
  absl::MutexLock lock(&state_->mutex);
  return *state_->accepted;  // set before Open returns, and never again
}

absl::Status AcquisitionStream::SendFrame(uint32_t index, std::span<const std::byte> pixels,
                                          const std::optional<ProjectionMatrix>& measured) {
  State& s = *state_;
  v1::AcquireRequest request;
  v1::Frame& frame = *request.mutable_frame();
  frame.set_index(index);
  frame.set_pixels(pixels.data(), pixels.size());
  frame.set_crc32c(Crc32c(pixels));
  frame.set_has_checksum(true);
  if (measured) *frame.mutable_measured_matrix() = ToProto(*measured);
  {
    absl::MutexLock lock(&s.mutex);
    const auto open = [&s, index]()
                          ABSL_EXCLUSIVE_LOCKS_REQUIRED(s.mutex) { return s.WindowOpen(index); };
    s.mutex.Await(absl::Condition(&open));
    if (s.ended) {
      return s.ended->ok() ? absl::FailedPreconditionError(absl::StrCat(
                                 "the server ended the acquisition before frame ", index))
                           : *s.ended;
    }
  }
  if (s.call->Write(request)) return absl::OkStatus();
  ISO_RETURN_IF_ERROR(s.WaitUntilEnded());
  return absl::FailedPreconditionError(
      absl::StrCat("the server ended the acquisition before frame ", index));
}

absl::StatusOr<v1::JobResult> AcquisitionStream::Finish() {
  State& s = *state_;
  v1::AcquireRequest request;
  request.mutable_finish();
  s.call->Write(request);
  s.call->WritesDone();  // failures of both show as the end of the call
  ISO_RETURN_IF_ERROR(s.WaitUntilEnded());
  absl::MutexLock lock(&s.mutex);
  if (!s.result) return absl::InternalError("the server ended the call without a result");
  return *s.result;
}

void AcquisitionStream::Cancel() { state_->context.TryCancel(); }

int64_t AcquisitionStream::acknowledged_frames() const {
  absl::MutexLock lock(&state_->mutex);
  return state_->acknowledged;
}

}  // namespace isocenter::client
