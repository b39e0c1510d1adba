// NodeService on the node.
#pragma once

#include "isocenter/v1/node.grpc.pb.h"
#include "server/node/node.h"
#include "server/rpc/guard.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

class NodeService : public WithMethods<v1::NodeService::Service,
                                       v1::NodeService::WithRawCallbackMethod_GetNodeStatus,
                                       v1::NodeService::WithRawCallbackMethod_DrainNode,
                                       v1::NodeService::WithRawCallbackMethod_ResumeNode> {
 public:
  /// Both must outlive the service.
  NodeService(const Guard& guard, node::Node& node) : guard_(guard), node_(node) {}

  grpc::ServerUnaryReactor* GetNodeStatus(grpc::CallbackServerContext* call,
                                          const grpc::ByteBuffer* in,
                                          grpc::ByteBuffer* out) override {
    return Serve(*this, &NodeService::OnGetNodeStatus, call, in, out);
  }
  grpc::ServerUnaryReactor* DrainNode(grpc::CallbackServerContext* call, const grpc::ByteBuffer* in,
                                      grpc::ByteBuffer* out) override {
    return Serve(*this, &NodeService::OnDrainNode, call, in, out);
  }
  grpc::ServerUnaryReactor* ResumeNode(grpc::CallbackServerContext* call,
                                       const grpc::ByteBuffer* in, grpc::ByteBuffer* out) override {
    return Serve(*this, &NodeService::OnResumeNode, call, in, out);
  }

 private:
  void OnGetNodeStatus(UnaryCall<v1::GetNodeStatusRequest, v1::NodeStatus>& call);
  void OnDrainNode(UnaryCall<v1::DrainNodeRequest, v1::NodeStatus>& call);
  void OnResumeNode(UnaryCall<v1::ResumeNodeRequest, v1::NodeStatus>& call);

  void Describe(v1::NodeStatus& response) const;

  const Guard& guard_;
  node::Node& node_;
};

}  // namespace isocenter::rpc
