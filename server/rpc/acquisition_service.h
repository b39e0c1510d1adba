// AcquisitionService on the pipeline.
#pragma once

#include "isocenter/v1/acquisition.grpc.pb.h"
#include "server/rpc/acquisition_stream.h"
#include "server/rpc/call_counter.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

/// Messages of Acquire arrive as raw bytes as well; AcquisitionStream parses them.
class AcquisitionService
    : public WithMethods<v1::AcquisitionService::Service,
                         v1::AcquisitionService::WithRawCallbackMethod_Acquire,
                         v1::AcquisitionService::WithRawCallbackMethod_QuoteAcquisition,
                         v1::AcquisitionService::WithRawCallbackMethod_ListNodes> {
 public:
  explicit AcquisitionService(AcquisitionContext& shared) : shared_(shared) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Acquire(
      grpc::CallbackServerContext* call) override {
    return AcquisitionStream::Start(shared_, call);
  }
  grpc::ServerUnaryReactor* QuoteAcquisition(grpc::CallbackServerContext* call,
                                             const grpc::ByteBuffer* in,
                                             grpc::ByteBuffer* out) override {
    return Serve(*this, &AcquisitionService::OnQuoteAcquisition, call, in, out,
                 kLongestHeaderBytes);
  }
  grpc::ServerUnaryReactor* ListNodes(grpc::CallbackServerContext* call, const grpc::ByteBuffer* in,
                                      grpc::ByteBuffer* out) override {
    return Serve(*this, &AcquisitionService::OnListNodes, call, in, out);
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
