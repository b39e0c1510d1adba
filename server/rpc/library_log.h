// The messages of gRPC and Protobuf in our log.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace isocenter::rpc {

/// From now on they go to spdlog, at debug level: clients can cause them at will, and what matters
/// of it reaches the log as an event of ours. Call once, before any use of either.
void RedirectLibraryLogs();

/// Tells of each TLS handshake that failed on the gRPC port. `address`: the client's; empty where
/// several clients were in their handshakes. Null: nobody is told any more, also when this returns.
/// Must return at once.
void TellOfHandshakes(std::function<void(const std::string& address, const std::string& why)> told);

/// gRPC does not say with whom a handshake has failed. `hosts`: those whose connections may be in
/// it, each once, or none; called on gRPC's threads, so at most now and then at length. Null:
/// nobody knows any more, also when this returns.
void KnowHandshakesBy(std::function<std::vector<std::string>()> hosts);

}  // namespace isocenter::rpc
