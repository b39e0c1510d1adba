// The messages of gRPC and Protobuf in our log.
#pragma once

#include <functional>
#include <string>

namespace isocenter::rpc {

/// From now on they go to spdlog, at debug level: clients can cause them at will, and what matters
/// of it reaches the log as an event of ours. Call once, before any use of either.
void RedirectLibraryLogs();

/// Tells of each TLS handshake that failed on the gRPC port; gRPC does not say with whom. Null:
/// nobody is told any more, also when this returns. Must return at once.
void TellOfHandshakes(std::function<void(const std::string& why)> told);

}  // namespace isocenter::rpc
