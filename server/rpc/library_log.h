// The messages of gRPC and Protobuf in our log.
#pragma once

namespace isocenter::rpc {

/// From now on they go to spdlog, at debug level: clients can cause them at will, and what matters
/// of it reaches the log as an event of ours. Call once, before any use of either.
void RedirectLibraryLogs();

}  // namespace isocenter::rpc
