// AcquisitionService on the pipeline.
#pragma once

#include "isocenter/v1/acquisition.grpc.pb.h"
#include "server/rpc/acquisition_stream.h"
#include "server/rpc/call_counter.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

/// Messages of Acquire arrive as raw bytes as well; AcquisitionStream parses them.
class AcquisitionService : public v1::AcquisitionService::WithRawCallbackMethod_Acquire<
                               SingleRequestService<v1::AcquisitionService>> {
 public:
  explicit AcquisitionService(AcquisitionContext& shared) : shared_(shared) {
    Add(shared.guard, "QuoteAcquisition", &AcquisitionService::OnQuoteAcquisition,
        {.longest = kLongestHeaderBytes, .kind = CallKind::kQuote});
    Add(shared.guard, "ListNodes", &AcquisitionService::OnListNodes);
  }

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Acquire(
      grpc::CallbackServerContext* call) override {
    return AcquisitionStream::Start(shared_, call);
  }

  /// Quotes that are being made.
  const CallCounter& quotes() const { return quotes_; }

 private:
  void OnQuoteAcquisition(UnaryCall<v1::QuoteAcquisitionRequest, v1::AcquisitionQuote>& call);
  void OnListNodes(UnaryCall<v1::ListNodesRequest, v1::ListNodesResponse>& call);

  AcquisitionContext& shared_;
  CallCounter quotes_;
};

}  // namespace isocenter::rpc
