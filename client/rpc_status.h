// gRPC's status as ours, and how long a call may take. For .cc files of client/ only.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace grpc {
class ClientContext;
}

namespace isocenter::client {

/// The canonical codes of gRPC and Abseil are the same numbers. Where no server answered, or the
/// connection broke, the message says so, with what gRPC knows and what to look at; the server's
/// own sentences stay as they are.
absl::Status FromGrpc(const grpc::Status& status);

/// The deadline of calls that answer from memory: 30 s.
void SetShortDeadline(grpc::ClientContext& context);

}  // namespace isocenter::client
