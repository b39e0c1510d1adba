// Statuses on their way to the wire.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "grpcpp/support/status.h"

namespace isocenter::rpc {

/// The same canonical code; the message is cut to what fits into HTTP/2 trailers.
grpc::Status ToGrpc(const absl::Status& status);

/// Tells the client of a refused call when it could be accepted, in the trailing metadata
/// "isocenter-retry-after-ms" (whole milliseconds, rounded up); nothing where that is not known.
/// Before the call is finished.
void AddRetryAfter(std::optional<absl::Duration> retry_after, grpc::ServerContextBase& call);

}  // namespace isocenter::rpc
