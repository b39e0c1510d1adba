// Calls that no stub would make.
#pragma once

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"

namespace isocenter::testing {

/// Sends one message of these bytes and reads to the end, whatever kind of method it is.
inline grpc::Status CallWithBytes(const std::shared_ptr<grpc::Channel>& channel,
                                  grpc::ClientContext& context,
                                  const google::protobuf::MethodDescriptor& method,
                                  const std::string& message) {
  grpc::GenericStub generic(channel);
  grpc::CompletionQueue queue;
  const auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = generic.PrepareCall(
      &context, absl::StrCat("/", method.service()->full_name(), "/", method.name()), &queue);
  call->StartCall(nullptr);
  next();
  const grpc::Slice bytes(message);
  call->WriteLast(grpc::ByteBuffer(&bytes, 1), grpc::WriteOptions(), nullptr);
  next();
  grpc::ByteBuffer answer;
  do {
    call->Read(&answer, nullptr);
  } while (next());
  grpc::Status status;
  call->Finish(&status, nullptr);
  next();
  return status;
}

}  // namespace isocenter::testing
