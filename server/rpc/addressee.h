// What the request metadata of a call says: for which node it is meant, and to which trace it
// belongs.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "grpcpp/server_context.h"

namespace isocenter::rpc {

/// The request metadata that names a node.
inline constexpr char kNodeMetadata[] = "isocenter-node";

/// UNAVAILABLE for a call that names another node than this one: a person mistyped the name, or the
/// proxy took it to the wrong one, perhaps because the right one is down. Every call but
/// ListNodes is asked: it would be the wrong node that is drained, or whose jobs are deleted.
absl::Status CheckAddressee(const grpc::ServerContextBase& call, const std::string& this_node);

/// The W3C traceparent of a call, unchecked, cut to 256 bytes; empty: none.
std::string TraceParentOf(const grpc::ServerContextBase& call);

}  // namespace isocenter::rpc
