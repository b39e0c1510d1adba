#include "server/rpc/protocol_service.h"

namespace isocenter::rpc {

void ProtocolService::OnListProtocols(
    UnaryCall<v1::ListProtocolsRequest, v1::ListProtocolsResponse>& call) {
  for (const auto& [name, protocol] : protocols_.all()) {
    *call.response().add_protocol() = protocol.description;
  }
  call.response().set_default_protocol(protocols_.default_name());
  call.Answer(absl::OkStatus());
}

void ProtocolService::OnGetProtocol(
    UnaryCall<v1::GetProtocolRequest, v1::ReconstructionProtocol>& call) {
  const absl::StatusOr<const config::Protocol*> protocol = protocols_.Find(call.request().name());
  if (protocol.ok()) call.response() = (*protocol)->description;
  call.Answer(protocol.status());
}

}  // namespace isocenter::rpc
