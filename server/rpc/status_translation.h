// Statuses on their way to the wire.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace isocenter::rpc {

/// The same canonical code; the message is cut to what fits into HTTP/2 trailers.
grpc::Status ToGrpc(const absl::Status& status);

/// Marks an error whose message repeats a field that may identify a patient. Such messages go to
/// the client that sent the field, and nowhere else.
absl::Status MarkPrivate(absl::Status status);

/// What may be logged of an error: the code's name alone when it was marked.
std::string Loggable(const absl::Status& status);

}  // namespace isocenter::rpc
