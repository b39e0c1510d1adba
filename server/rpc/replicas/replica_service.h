// ReplicaService on the copies that this node keeps for others.
#pragma once

#include <string>
#include <vector>

#include "isocenter/v1/replicas.grpc.pb.h"
#include "server/rpc/replicas/replica_call.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

class ReplicaService : public v1::ReplicaService::WithRawCallbackMethod_KeepReplica<
                           SingleRequestService<v1::ReplicaService>> {
 public:
  /// All must outlive the service.
  ReplicaService(const Guard& guard, replicas::ReplicaStore& store, const v1::ServerConfig& config);

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* KeepReplica(
      grpc::CallbackServerContext* call) override {
    return ReplicaCall::Start(shared_, call);
  }

  const CallCounter& calls() const { return shared_.calls; }

 private:
  void OnReportOrigin(UnaryCall<v1::ReportOriginRequest, v1::ReportOriginResponse>& call);

  ReplicaContext shared_;
};

}  // namespace isocenter::rpc
