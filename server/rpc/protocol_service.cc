#include "server/rpc/protocol_service.h"

namespace isocenter::rpc {

void ProtocolService::OnListProtocols(
    UnaryCall<v1::ListProtocolsRequest, v1::ListProtocolsResponse>& call) {
  const Permit permit = guard_.Ask(call.context(), roles::Role::kViewer);
  if (permit.ok()) {
    for (const auto& [name, protocol] : protocols_.all()) {
      *call.response().add_protocol() = protocol.description;
    }
    call.response().set_default_protocol(protocols_.default_name());
  }
  call.Answer(permit.status);
}

void ProtocolService::OnGetProtocol(
    UnaryCall<v1::GetProtocolRequest, v1::ReconstructionProtocol>& call) {
  const Permit permit = guard_.Ask(call.context(), roles::Role::kViewer);
  const absl::StatusOr<const config::Protocol*> protocol =
      permit.ok() ? protocols_.Find(call.request().name()) : permit.status;
  if (protocol.ok()) call.response() = (*protocol)->description;
  call.Answer(protocol.status());
}

}  // namespace isocenter::rpc
