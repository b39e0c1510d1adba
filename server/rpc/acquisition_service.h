// AcquisitionService on the pipeline.
#pragma once

#include "isocenter/v1/acquisition.grpc.pb.h"
#include "server/rpc/acquisition_stream.h"
#include "server/rpc/call_counter.h"

namespace isocenter::rpc {

using CallbackAcquisitionService = v1::AcquisitionService::WithCallbackMethod_QuoteAcquisition<
    v1::AcquisitionService::WithCallbackMethod_ListNodes<v1::AcquisitionService::Service>>;

/// Messages of Acquire arrive as raw bytes; AcquisitionStream parses them.
class AcquisitionService
    : public v1::AcquisitionService::WithRawCallbackMethod_Acquire<CallbackAcquisitionService> {
 public:
  explicit AcquisitionService(AcquisitionContext& shared) : shared_(shared) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Acquire(
      grpc::CallbackServerContext* call) override {
    return AcquisitionStream::Start(shared_, call);
  }
  grpc::ServerUnaryReactor* QuoteAcquisition(grpc::CallbackServerContext* call,
                                             const v1::QuoteAcquisitionRequest* request,
                                             v1::AcquisitionQuote* response) override;
  grpc::ServerUnaryReactor* ListNodes(grpc::CallbackServerContext* call,
                                      const v1::ListNodesRequest* request,
                                      v1::ListNodesResponse* response) override;

  /// Quotes that are being made.
  const CallCounter& quotes() const { return quotes_; }

 private:
  AcquisitionContext& shared_;
  CallCounter quotes_;
};

}  // namespace isocenter::rpc
