// ProtocolService on the protocol book.
#pragma once

#include "isocenter/v1/protocols.grpc.pb.h"
#include "server/config/protocol_book.h"
#include "server/rpc/callers/guard.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

class ProtocolService : public SingleRequestService<v1::ProtocolService> {
 public:
  /// Both must outlive the service.
  ProtocolService(const Guard& guard, const config::ProtocolBook& protocols)
      : protocols_(protocols) {
    Add(guard, {"ListProtocols", Role::kViewer}, &ProtocolService::OnListProtocols);
    Add(guard, {"GetProtocol", Role::kViewer}, &ProtocolService::OnGetProtocol);
  }

 private:
  void OnListProtocols(UnaryCall<v1::ListProtocolsRequest, v1::ListProtocolsResponse>& call);
  void OnGetProtocol(UnaryCall<v1::GetProtocolRequest, v1::ReconstructionProtocol>& call);

  const config::ProtocolBook& protocols_;
};

}  // namespace isocenter::rpc
