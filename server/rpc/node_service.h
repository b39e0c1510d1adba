// NodeService on the node.
#pragma once

#include "isocenter/v1/node.grpc.pb.h"
#include "server/node/node.h"
#include "server/rpc/callers/guard.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

class NodeService : public SingleRequestService<v1::NodeService> {
 public:
  /// Both must outlive the service.
  NodeService(const Guard& guard, node::Node& node) : node_(node) {
    Add(guard, {"GetNodeStatus", Role::kViewer}, &NodeService::OnGetNodeStatus);
    Add(guard, {"DrainNode", Role::kOperator}, &NodeService::OnDrainNode);
    Add(guard, {"ResumeNode", Role::kOperator}, &NodeService::OnResumeNode);
  }

 private:
  void OnGetNodeStatus(UnaryCall<v1::GetNodeStatusRequest, v1::NodeStatus>& call);
  void OnDrainNode(UnaryCall<v1::DrainNodeRequest, v1::NodeStatus>& call);
  void OnResumeNode(UnaryCall<v1::ResumeNodeRequest, v1::NodeStatus>& call);

  void Describe(v1::NodeStatus& response, bool with_peers) const;

  node::Node& node_;
};

}  // namespace isocenter::rpc
