#include "server/rpc/protocol_service.h"

#include "server/rpc/translation/status_translation.h"

namespace isocenter::rpc {

grpc::ServerUnaryReactor* ProtocolService::ListProtocols(grpc::CallbackServerContext* call,
                                                         const v1::ListProtocolsRequest*,
                                                         v1::ListProtocolsResponse* response) {
  const Permit permit = guard_.Ask(*call, roles::Role::kViewer);
  if (permit.ok()) {
    for (const auto& [name, protocol] : protocols_.all()) {
      *response->add_protocol() = protocol.description;
    }
    response->set_default_protocol(protocols_.default_name());
  }
  return Answer(call, permit.status);
}

grpc::ServerUnaryReactor* ProtocolService::GetProtocol(grpc::CallbackServerContext* call,
                                                       const v1::GetProtocolRequest* request,
                                                       v1::ReconstructionProtocol* response) {
  const Permit permit = guard_.Ask(*call, roles::Role::kViewer);
  const absl::StatusOr<const config::Protocol*> protocol =
      permit.ok() ? protocols_.Find(request->name()) : permit.status;
  if (protocol.ok()) *response = (*protocol)->description;
  return Answer(call, protocol.status());
}

}  // namespace isocenter::rpc
