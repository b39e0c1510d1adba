// ProtocolService on the protocol book.
#pragma once

#include "isocenter/v1/protocols.grpc.pb.h"
#include "server/config/protocol_book.h"

namespace isocenter::rpc {

class ProtocolService : public v1::ProtocolService::CallbackService {
 public:
  explicit ProtocolService(const config::ProtocolBook& protocols) : protocols_(protocols) {}

  grpc::ServerUnaryReactor* ListProtocols(grpc::CallbackServerContext* call,
                                          const v1::ListProtocolsRequest* request,
                                          v1::ListProtocolsResponse* response) override;
  grpc::ServerUnaryReactor* GetProtocol(grpc::CallbackServerContext* call,
                                        const v1::GetProtocolRequest* request,
                                        v1::ReconstructionProtocol* response) override;

 private:
  const config::ProtocolBook& protocols_;
};

}  // namespace isocenter::rpc
