// Statuses on their way to the wire.
#pragma once

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/status.h"

namespace isocenter::rpc {

/// How `call` ends; once, before it is finished. The same canonical code; the message is cut to
/// what fits into HTTP/2 trailers. A refusal that passes (server/base/try_again.h) says so in the
/// call's trailing metadata: "isocenter-try-again" is "later", and "isocenter-retry-after-ms" is
/// when, in whole milliseconds, rounded up, where that is known.
grpc::Status ToGrpc(const absl::Status& status, grpc::ServerContextBase& call);

}  // namespace isocenter::rpc
