#include "client/node_client.h"

#include <grpcpp/grpcpp.h>

#include "client/rpc_status.h"
#include "isocenter/v1/node.grpc.pb.h"
#include "isocenter/v1/replicas.grpc.pb.h"
#include "kernels/base/status_macros.h"

namespace isocenter::client {

struct NodeClient::Stub {
  std::unique_ptr<v1::NodeService::Stub> node;
  std::unique_ptr<v1::ReplicaService::Stub> replicas;
};

NodeClient::NodeClient(const ServiceChannel& channel)
    : stub_(new Stub{v1::NodeService::NewStub(channel.grpc_channel()),
                     v1::ReplicaService::NewStub(channel.grpc_channel())}) {}
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

absl::StatusOr<v1::ListReplicasResponse> NodeClient::Replicas() const {
  v1::ListReplicasResponse response;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stub_->replicas->ListReplicas(&context, {}, &response);
  }));
  return response;
}

absl::Status NodeClient::TakeReplica(const std::string& job_id) const {
  v1::TakeReplicaRequest request;
  request.set_job_id(job_id);
  v1::TakeReplicaResponse response;
  return Call([&](grpc::ClientContext& context) {
    return stub_->replicas->TakeReplica(&context, request, &response);
  });
}

absl::Status NodeClient::DropReplica(const std::string& job_id, bool force) const {
  v1::DropReplicaRequest request;
  request.set_job_id(job_id);
  request.set_force(force);
  v1::DropReplicaResponse response;
  return Call([&](grpc::ClientContext& context) {
    return stub_->replicas->DropReplica(&context, request, &response);
  });
}

}  // namespace isocenter::client
