// AcquisitionService on the pipeline.
#pragma once

#include "isocenter/v1/acquisition.grpc.pb.h"
#include "server/rpc/acquisition_stream.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

/// Messages of Acquire arrive as raw bytes as well; AcquisitionStream parses them.
class AcquisitionService : public v1::AcquisitionService::WithRawCallbackMethod_Acquire<
                               SingleRequestService<v1::AcquisitionService>> {
 public:
  explicit AcquisitionService(AcquisitionContext& shared) : shared_(shared) {
    Add(shared.guard, {"QuoteAcquisition", Role::kConsole, kLongestHeaderBytes, CallKind::kQuote},
        &AcquisitionService::OnQuoteAcquisition);
    // By its answer, callers learn whether an address is one node's own.
    Add(shared.guard, {.name = "ListNodes", .least = Role::kViewer, .whoever_answers = true},
        &AcquisitionService::OnListNodes);
  }

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Acquire(
      grpc::CallbackServerContext* call) override {
    return AcquisitionStream::Start(shared_, call);
  }

 private:
  void OnQuoteAcquisition(UnaryCall<v1::QuoteAcquisitionRequest, v1::AcquisitionQuote>& call);
  void OnListNodes(UnaryCall<v1::ListNodesRequest, v1::ListNodesResponse>& call);

  AcquisitionContext& shared_;
};

}  // namespace isocenter::rpc
