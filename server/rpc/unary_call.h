// Calls with one request: its bytes are bounded before they are parsed.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/rpc/message_limits.h"
#include "server/rpc/translation/status_translation.h"

namespace isocenter::rpc {

namespace internal {

template <class Service, template <class> class... Methods>
struct Nested {
  using Type = Service;
};
template <class Service, template <class> class First, template <class> class... Rest>
struct Nested<Service, First, Rest...> {
  using Type = First<typename Nested<Service, Rest...>::Type>;
};

}  // namespace internal

/// A generated service with some of its generated WithRawCallbackMethod_..., whose requests arrive
/// as bytes, which Serve() bounds.
template <class Service, template <class> class... Methods>
using WithMethods = typename internal::Nested<Service, Methods...>::Type;

/// Reads a request of at most `longest` bytes. Errors: INVALID_ARGUMENT.
template <class Request>
absl::Status ParseRequest(const grpc::ByteBuffer& bytes, int64_t longest, Request& request) {
  if (static_cast<int64_t>(bytes.Length()) > longest) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request has ", bytes.Length(), " bytes; legal is at most ", longest));
  }
  grpc::ByteBuffer copy = bytes;  // of the reference: reading takes it
  if (grpc::SerializationTraits<Request>::Deserialize(&copy, &request).ok()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("the request of ", bytes.Length(), " bytes is no ",
                                                 Request::descriptor()->name(),
                                                 "; legal is valid, uncompressed protobuf"));
}

/// A message as gRPC sends it.
template <class Message>
grpc::ByteBuffer BytesOf(const Message& message) {
  grpc::ByteBuffer bytes;
  bool owned = false;
  // Fails for messages of 2 GiB alone.
  (void)grpc::SerializationTraits<Message>::Serialize(message, &bytes, &owned);
  return bytes;
}

/// One call; deletes itself when gRPC is done with it.
template <class Request, class Response>
class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  UnaryCall(grpc::CallbackServerContext& context, grpc::ByteBuffer& answer)
      : context_(context), answer_(answer) {}

  grpc::CallbackServerContext& context() { return context_; }
  Request& request() { return request_; }
  Response& response() { return response_; }

  /// Sends the response, or why there is none. Once, and the last use of this.
  void Answer(const absl::Status& status) {
    if (status.ok()) answer_ = BytesOf(response_);
    Finish(ToGrpc(status));
  }

 private:
  void OnDone() override { delete this; }

  grpc::CallbackServerContext& context_;
  grpc::ByteBuffer& answer_;
  Request request_;
  Response response_;
};

/// Lets `method` of `service` answer a call, unless its request has more than `longest` bytes
/// or is none. `method` asks the guard first, and calls Answer, then or later.
template <class Service, class Request, class Response>
grpc::ServerUnaryReactor* Serve(Service& service,
                                void (Service::*method)(UnaryCall<Request, Response>&),
                                grpc::CallbackServerContext* context,
                                const grpc::ByteBuffer* request, grpc::ByteBuffer* answer,
                                int64_t longest = kLongestRequestBytes) {
  auto* const call = new UnaryCall<Request, Response>(*context, *answer);
  const absl::Status parsed = ParseRequest(*request, longest, call->request());
  if (parsed.ok()) {
    (service.*method)(*call);
  } else {
    call->Answer(parsed);
  }
  return call;
}

}  // namespace isocenter::rpc
