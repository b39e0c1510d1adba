// ReplicaService on the copies that this node keeps for others.
#pragma once

#include <functional>
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
  /// Of those that wait for the disk in Submit.
  const CallCounter& operators() const { return operators_; }

 private:
  void OnReportOrigin(UnaryCall<v1::ReportOriginRequest, v1::ReportOriginResponse>& call);
  void OnListReplicas(UnaryCall<v1::ListReplicasRequest, v1::ListReplicasResponse>& call);
  void OnTakeReplica(UnaryCall<v1::TakeReplicaRequest, v1::TakeReplicaResponse>& call);
  void OnDropReplica(UnaryCall<v1::DropReplicaRequest, v1::DropReplicaResponse>& call);
  /// Lets `work` wait for the disk, beside what copies have to be begun.
  void Submit(std::function<void()> work);

  CallCounter operators_;
  ReplicaContext shared_;  // goes first: its thread counts them out
};

}  // namespace isocenter::rpc
