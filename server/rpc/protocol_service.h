// ProtocolService on the protocol book.
#pragma once

#include "isocenter/v1/protocols.grpc.pb.h"
#include "server/config/protocol_book.h"
#include "server/rpc/guard.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

class ProtocolService : public WithMethods<v1::ProtocolService::Service,
                                           v1::ProtocolService::WithRawCallbackMethod_ListProtocols,
                                           v1::ProtocolService::WithRawCallbackMethod_GetProtocol> {
 public:
  /// Both must outlive the service.
  ProtocolService(const Guard& guard, const config::ProtocolBook& protocols)
      : guard_(guard), protocols_(protocols) {}

  grpc::ServerUnaryReactor* ListProtocols(grpc::CallbackServerContext* call,
                                          const grpc::ByteBuffer* in,
                                          grpc::ByteBuffer* out) override {
    return Serve(*this, &ProtocolService::OnListProtocols, call, in, out);
  }
  grpc::ServerUnaryReactor* GetProtocol(grpc::CallbackServerContext* call,
                                        const grpc::ByteBuffer* in,
                                        grpc::ByteBuffer* out) override {
    return Serve(*this, &ProtocolService::OnGetProtocol, call, in, out);
  }

 private:
  void OnListProtocols(UnaryCall<v1::ListProtocolsRequest, v1::ListProtocolsResponse>& call);
  void OnGetProtocol(UnaryCall<v1::GetProtocolRequest, v1::ReconstructionProtocol>& call);

  const Guard& guard_;
  const config::ProtocolBook& protocols_;
};

}  // namespace isocenter::rpc
