// AcquisitionService on the pipeline.
#pragma once

#include "isocenter/v1/acquisition.grpc.pb.h"
#include "server/rpc/acquisition_stream.h"

namespace isocenter::rpc {

/// Messages arrive as raw bytes; AcquisitionStream parses them.
class AcquisitionService : public v1::AcquisitionService::WithRawCallbackMethod_Acquire<
                               v1::AcquisitionService::Service> {
 public:
  explicit AcquisitionService(AcquisitionContext& shared) : shared_(shared) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Acquire(
      grpc::CallbackServerContext* call) override {
    return AcquisitionStream::Start(shared_, call);
  }

 private:
  AcquisitionContext& shared_;
};

}  // namespace isocenter::rpc
