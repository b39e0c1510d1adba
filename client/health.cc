#include "client/health.h"

#include <google/protobuf/empty.pb.h>
#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <utility>

#include "absl/synchronization/notification.h"
#include "client/rpc_status.h"
#include "kernels/base/steady_clock.h"

namespace isocenter::client {
namespace {

using google::protobuf::Empty;

// grpc.health.v1.HealthCheckResponse: field 1 is the status, of which 1 is SERVING. Its proto file
// comes with gRPC's sources only; an empty message keeps what it does not know.
constexpr int kStatusField = 1;
constexpr uint64_t kServing = 1;

bool IsServing(const Empty& response) {
  const auto& fields = Empty::GetReflection()->GetUnknownFields(response);
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() == kStatusField &&
        field.type() == google::protobuf::UnknownField::TYPE_VARINT) {
      return field.varint() == kServing;
    }
  }
  return false;
}

}  // namespace

absl::Status CheckHealth(const ServiceChannel& channel, absl::Duration timeout) {
  grpc::TemplatedGenericStub<Empty, Empty> stub(channel.grpc_channel());
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(timeout));
  const Empty request;
  Empty response;
  grpc::Status status;
  absl::Notification done;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", grpc::StubOptions(), &request, &response,
                 [&](grpc::Status answer) {
                   status = std::move(answer);
                   done.Notify();
                 });
  done.WaitForNotification();
  if (!status.ok()) return FromGrpc(status, context);
  if (IsServing(response)) return absl::OkStatus();
  return absl::UnavailableError(
      "the server does not take acquisitions; `isocenter status` says why");
}

}  // namespace isocenter::client
