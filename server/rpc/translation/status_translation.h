// Statuses on their way to the wire.
#pragma once

#include <optional>
#include <string>

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

/// Marks an error whose message repeats a field that may identify a patient. Such messages go to
/// the client that sent the field, and nowhere else.
absl::Status MarkPrivate(absl::Status status);

/// What others than the client may be shown of an error: the code alone when it was marked.
absl::Status Publishable(const absl::Status& status);
/// The same as text, for the log.
std::string Loggable(const absl::Status& status);

}  // namespace isocenter::rpc
