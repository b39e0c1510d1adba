#include "server/rpc/protocol_service.h"

#include "server/rpc/status_translation.h"

namespace isocenter::rpc {

grpc::ServerUnaryReactor* ProtocolService::ListProtocols(grpc::CallbackServerContext* call,
                                                         const v1::ListProtocolsRequest*,
                                                         v1::ListProtocolsResponse* response) {
  for (const auto& [name, protocol] : protocols_.all()) {
    *response->add_protocol() = protocol.description;
  }
  response->set_default_protocol(protocols_.default_name());
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* ProtocolService::GetProtocol(grpc::CallbackServerContext* call,
                                                       const v1::GetProtocolRequest* request,
                                                       v1::ReconstructionProtocol* response) {
  const absl::StatusOr<const config::Protocol*> protocol = protocols_.Find(request->name());
  if (protocol.ok()) *response = (*protocol)->description;
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  reactor->Finish(ToGrpc(protocol.status()));
  return reactor;
}

}  // namespace isocenter::rpc
