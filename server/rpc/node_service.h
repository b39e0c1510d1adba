// NodeService on the node.
#pragma once

#include "isocenter/v1/node.grpc.pb.h"
#include "server/node/node.h"
#include "server/rpc/guard.h"

namespace isocenter::rpc {

class NodeService : public v1::NodeService::CallbackService {
 public:
  /// Both must outlive the service.
  NodeService(const Guard& guard, node::Node& node) : guard_(guard), node_(node) {}

  grpc::ServerUnaryReactor* GetNodeStatus(grpc::CallbackServerContext* call,
                                          const v1::GetNodeStatusRequest* request,
                                          v1::NodeStatus* response) override;
  grpc::ServerUnaryReactor* DrainNode(grpc::CallbackServerContext* call,
                                      const v1::DrainNodeRequest* request,
                                      v1::NodeStatus* response) override;
  grpc::ServerUnaryReactor* ResumeNode(grpc::CallbackServerContext* call,
                                       const v1::ResumeNodeRequest* request,
                                       v1::NodeStatus* response) override;

 private:
  void Describe(v1::NodeStatus& response) const;

  const Guard& guard_;
  node::Node& node_;
};

}  // namespace isocenter::rpc
