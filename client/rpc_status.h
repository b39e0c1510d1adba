// gRPC's status as ours, and how long a call may take. For .cc files of client/ only.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

namespace grpc {
class ClientContext;
}

namespace isocenter::client {

/// What the transport says of a call that no server ended.
enum class Break {
  kNone,         // a server ended it, with a sentence of its own
  kUnreachable,  // there was none to a server: nobody listens, no such name
  kMismatch,     // somebody is there: certificates, names or the port do not fit, and stay so
  kNoServer,     // a proxy stands there, and has no server for the call now
  kHandshake,    // a connection ended before it stood
  kConnection,   // a connection that stood broke
};

/// Of an error of FromGrpc. With other codes than UNAVAILABLE kNone: a server may have meant them.
Break BreakOf(const absl::Status& status);

/// Details of a status of gRPC whose message is a sentence of ExplainMismatch.
inline constexpr char kMismatchDetails[] = "isocenter/mismatch";

/// An UNAVAILABLE as if the transport had said it.
absl::Status AsBreak(absl::Status status, Break how);

/// The canonical codes of gRPC and Abseil are the same numbers. Where no server answered, or the
/// connection broke, the message says so, with what gRPC knows and what to look at; the server's
/// own sentences stay as they are. `call`: the one that has ended so; where its server says in the
/// trailing metadata that the refusal passes, the error has flags::kTryAgain.
absl::Status FromGrpc(const grpc::Status& status, const grpc::ClientContext& call);

/// Of calls that answer from memory.
inline constexpr absl::Duration kShortCall = absl::Seconds(30);

/// Makes a call, each try of which may take `limit`. A call that the server, or a proxy before it,
/// refused to begin (HTTP/2's REFUSED_STREAM) did nothing, and is tried again for 3 s.
absl::Status Call(absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call,
                  absl::Duration limit = kShortCall);

}  // namespace isocenter::client
