// Who calls through a proxy that ends TLS (docs/adr/0037-a-proxy-says-who-calls.md).
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "grpcpp/support/string_ref.h"
#include "server/audit/event.h"

namespace isocenter::rpc {

/// The request metadata by which a proxy says who calls: the subject of the caller's certificate as
/// RFC 2253 writes it, and the caller's address. A proxy replaces what the caller itself has sent.
inline constexpr char kCallerSubjectMetadata[] = "isocenter-caller-subject";
inline constexpr char kCallerAddressMetadata[] = "isocenter-caller-address";

/// The metadata of a request, as gRPC keeps it.
using CallMetadata = std::multimap<grpc::string_ref, grpc::string_ref>;

/// What the proxy says in `metadata`, each exactly once. To be asked only where the proxy's own
/// certificate is one that the configuration names: anybody can send metadata. Errors:
/// UNAUTHENTICATED (it says nothing, or what is no subject and address).
absl::StatusOr<audit::Actor> ProxiedCaller(const CallMetadata& metadata);

/// The first common name (CN) of a subject as RFC 2253 writes it, with its escapes; empty: none.
std::string CommonNameOf(absl::string_view subject);

}  // namespace isocenter::rpc
