// Who may call what (docs/adr/0023-roles-on-grpc.md).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/audit/event.h"
#include "server/roles/attempt_limiter.h"
#include "server/roles/roster.h"
#include "server/rpc/translation/status_translation.h"

namespace isocenter::rpc {

/// The request metadata with the caller's token: "Bearer TOKEN".
inline constexpr char kTokenMetadata[] = "authorization";

/// Whether a call may go on, and who makes it.
struct Permit {
  absl::Status status;  // OK: it may
  audit::Actor actor;   // with the name of the token's holder, where there is one
  /// Whose jobs are the caller's: "token NAME" or "certificate SUBJECT". Empty where nobody is
  /// asked.
  std::string identity;
  bool ok() const { return status.ok(); }
  /// Who makes it, for the log: the holder of the token or certificate, else the address.
  const std::string& caller() const { return actor.name.empty() ? actor.address : actor.name; }
};

/// Thread-safe.
class Guard {
 public:
  /// `roster`: null, or without anybody: whoever reaches the server may. Must outlive this.
  /// `proxies`: the subjects of the certificates of those that say who calls through them.
  Guard(const roles::Roster* roster, std::vector<std::string> proxies,
        std::function<absl::Time()> clock)
      : roster_(roster), proxies_(std::move(proxies)), clock_(std::move(clock)) {}

  /// By the token of the call, else by its client certificate: of the role that the roster gives
  /// its subject, else a console's, whose authority gRPC has checked. Of a call through a proxy the
  /// certificate is that of the proxy's client. Every method of every service asks this first.
  /// Errors: UNAUTHENTICATED (neither, a token that is not known, or a proxy that does not say who
  /// calls), PERMISSION_DENIED (the role may not).
  Permit Ask(const grpc::ServerContextBase& call, roles::Role least) const;

 private:
  /// Who calls. Errors: those of ProxiedCaller.
  absl::Status Identify(const grpc::ServerContextBase& call, audit::Actor& actor) const;
  /// Completes `permit`, but for its status.
  absl::Status Check(const grpc::ServerContextBase& call, roles::Role least, Permit& permit) const;

  const roles::Roster* const roster_;
  const std::vector<std::string> proxies_;
  const std::function<absl::Time()> clock_;
  mutable roles::AttemptLimiter logged_;  // lines of refused calls
};

/// A stream of answers that ends at once, with an error.
class RefusedStream : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  explicit RefusedStream(const absl::Status& why) { Finish(ToGrpc(why)); }
  void OnDone() override { delete this; }
};

}  // namespace isocenter::rpc
