// ProtocolService on the protocol book.
#pragma once

#include "isocenter/v1/protocols.grpc.pb.h"
#include "server/config/protocol_book.h"
#include "server/rpc/guard.h"

namespace isocenter::rpc {

class ProtocolService : public v1::ProtocolService::CallbackService {
 public:
  /// Both must outlive the service.
  ProtocolService(const Guard& guard, const config::ProtocolBook& protocols)
      : guard_(guard), protocols_(protocols) {}

  grpc::ServerUnaryReactor* ListProtocols(grpc::CallbackServerContext* call,
                                          const v1::ListProtocolsRequest* request,
                                          v1::ListProtocolsResponse* response) override;
  grpc::ServerUnaryReactor* GetProtocol(grpc::CallbackServerContext* call,
                                        const v1::GetProtocolRequest* request,
                                        v1::ReconstructionProtocol* response) override;

 private:
  const Guard& guard_;
  const config::ProtocolBook& protocols_;
};

}  // namespace isocenter::rpc
