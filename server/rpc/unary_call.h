// Calls with one request and one answer, and the services that consist of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/rpc/single_request_call.h"
#include "server/rpc/translation/status_translation.h"

namespace isocenter::rpc {

/// Reads a request. Errors: INVALID_ARGUMENT.
template <class Request>
absl::Status ParseRequest(const grpc::ByteBuffer& bytes, Request& request) {
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
class UnaryCall : public SingleRequestCall {
 public:
  /// Gets the call when its request has been read.
  using Handler = std::function<void(UnaryCall& call)>;

  UnaryCall(const Guard& guard, grpc::CallbackServerContext& context, const Method& method,
            const Handler& handler)
      : SingleRequestCall(guard, context, method), handler_(handler) {}

  Request& request() { return request_; }
  Response& response() { return response_; }

  /// Sends the response, or why there is none. Once, and the last use of this.
  void Answer(const absl::Status& status) {
    if (!status.ok()) return Finish(ToGrpc(status, context()));
    answer_ = BytesOf(response_);
    StartWriteAndFinish(&answer_, grpc::WriteOptions(), grpc::Status::OK);
  }

 private:
  void OnRequest(const grpc::ByteBuffer& bytes) override {
    const absl::Status parsed = ParseRequest(bytes, request_);
    parsed.ok() ? handler_(*this) : Answer(parsed);
  }

  const Handler& handler_;
  Request request_;
  Response response_;
  grpc::ByteBuffer answer_;
};

/// A generated service, `Contract`::Service, whose methods with one request are given by Add.
template <class Contract>
class SingleRequestService : public Contract::Service {
 protected:
  using Method = SingleRequestCall::Method;
  using Role = roles::Role;

  /// Lets `handler` of `service`, which this is, answer calls of a method, then or later. In the
  /// constructor.
  template <class Service, class Request, class Response>
  void Add(const Guard& guard, const Method& method,
           void (Service::*handler)(UnaryCall<Request, Response>&)) {
    using Call = UnaryCall<Request, Response>;
    typename Call::Handler handle = [this, handler](Call& call) {
      (static_cast<Service*>(this)->*handler)(call);
    };
    AddCalls(method, [&guard, handle = std::move(handle)](grpc::CallbackServerContext& context,
                                                          const Method& method) {
      return new Call(guard, context, method, handle);
    });
  }

  /// Lets what `make(context, method)` returns, a new SingleRequestCall, be a call of it.
  template <class Maker>
  void AddCalls(const Method& method, Maker make) {
    using Handler = grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>;
    const int index = google::protobuf::DescriptorPool::generated_pool()
                          ->FindServiceByName(Contract::service_full_name())
                          ->FindMethodByName(method.name)
                          ->index();
    const auto begin = [method, make = std::move(make)](grpc::CallbackServerContext* context) {
      SingleRequestCall* const call = make(*context, method);
      call->Begin();
      return call;
    };
    // The first says that requests are a stream, the second who gets them.
    this->MarkMethodStreamed(index, new Handler(begin));
    this->MarkMethodRawCallback(index, new Handler(begin));
  }
};

}  // namespace isocenter::rpc
