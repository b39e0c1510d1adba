// gRPC's status as ours. For .cc files of client/ only.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace isocenter::client {

/// The canonical codes of gRPC and Abseil are the same numbers. Where no server answered, or the
/// connection broke, the message says so, with what gRPC knows and what to look at; the server's
/// own sentences stay as they are.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace isocenter::client
