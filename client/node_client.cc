#include "client/node_client.h"

#include <grpcpp/grpcpp.h>

#include "client/rpc_status.h"
#include "isocenter/v1/node.grpc.pb.h"
#include "kernels/base/status_macros.h"

namespace isocenter::client {

struct NodeClient::Stub {
  std::unique_ptr<v1::NodeService::Stub> node;
};

NodeClient::NodeClient(const ServiceChannel& channel)
    : stub_(new Stub{v1::NodeService::NewStub(channel.grpc_channel())}) {}
NodeClient::~NodeClient() = default;

absl::StatusOr<v1::NodeStatus> NodeClient::Status() const {
  v1::NodeStatus status;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stub_->node->GetNodeStatus(&context, {}, &status);
  }));
  return status;
}

absl::StatusOr<v1::NodeStatus> NodeClient::Drain(const std::string& reason,
                                                 const std::string& by) const {
  v1::DrainNodeRequest request;
  request.set_reason(reason);
  request.set_by(by);
  v1::NodeStatus status;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stub_->node->DrainNode(&context, request, &status);
  }));
  return status;
}

absl::StatusOr<v1::NodeStatus> NodeClient::Resume(const std::string& by) const {
  v1::ResumeNodeRequest request;
  request.set_by(by);
  v1::NodeStatus status;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stub_->node->ResumeNode(&context, request, &status);
  }));
  return status;
}

}  // namespace isocenter::client
