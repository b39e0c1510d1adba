// Who may call what, and how much of it (docs/adr/0023-roles-on-grpc.md).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/server_context.h"
#include "server/audit/event.h"
#include "server/jobs/job.h"
#include "server/roles/attempt_limiter.h"
#include "server/roles/roster.h"
#include "server/rpc/callers/caller_quotas.h"
#include "server/rpc/callers/reception.h"

namespace isocenter::rpc {

/// The request metadata with the caller's token: "Bearer TOKEN".
inline constexpr char kTokenMetadata[] = "authorization";

/// Whether a call may go on, and who makes it.
struct Permit {
  absl::Status status;  // OK: it may
  audit::Actor actor;   // with the name of the token's holder, where there is one
  /// Whose jobs are the caller's: "token NAME", "openid SUBJECT" or "certificate SUBJECT". Empty
  /// where nobody is asked.
  std::string identity;
  /// Whose quotas the call counts in: the identity, else the subject of a certificate, else the
  /// address without its port.
  std::string account;
  /// Of a token that is not taken: what was wrong with it, for the audit trail alone.
  std::optional<roles::TokenRefusal> refusal;
  audit::Recorder* recorder = nullptr;  // null: nobody wants to know
  bool ok() const { return status.ok(); }
  /// Who makes it, for the log: the holder of the token or certificate, else the address.
  const std::string& caller() const { return actor.name.empty() ? actor.address : actor.name; }

  /// Puts into the audit trail what the caller has done, or wanted to. `job` may be nothing, or
  /// have no more than its id (node::JobNamed); `more` says what else there is to say.
  void Record(audit::Action action, const jobs::Job& job, const absl::Status& outcome,
              const std::function<void(audit::Event&)>& more = nullptr) const;
};

/// Thread-safe.
class Guard {
 public:
  struct Settings {
    /// Null, or a roster without anybody: whoever reaches the server may. Must outlive the guard.
    const roles::Roster* roster = nullptr;
    /// Subjects of the certificates of those that say who calls through them.
    std::vector<std::string> proxies;
    std::string node_name;
    v1::LimitsConfig limits;
    std::function<absl::Time()> clock;
    CallerQuotas::OnRefused on_refused;
    /// Of those that are turned away, and for permits; may be null. Must outlive the guard.
    audit::Recorder* recorder = nullptr;
  };
  explicit Guard(Settings settings)
      : roster_(settings.roster),
        proxies_(std::move(settings.proxies)),
        node_name_(std::move(settings.node_name)),
        clock_(settings.clock),
        recorder_(settings.recorder),
        quotas_(settings.limits, settings.clock, std::move(settings.on_refused)),
        reception_(settings.clock) {}

  /// By the token of the call, else by its client certificate: of the role that the roster gives
  /// its subject, else a console's, whose authority gRPC has checked. Of a call through a proxy the
  /// certificate is that of the proxy's client. Every call of every service asks this first, once;
  /// the audit trail gets the name of its method where the caller is turned away. Errors:
  /// UNAUTHENTICATED (neither, a token that is not known, or a proxy that does not say who calls),
  /// PERMISSION_DENIED (the role may not), UNAVAILABLE (the identity provider is being asked for
  /// its keys).
  Permit Ask(const grpc::ServerContextBase& call, const char* method, roles::Role least) const;

  /// Of this one, which calls may name (addressee.h).
  const std::string& node_name() const { return node_name_; }
  /// How much callers may take.
  CallerQuotas& quotas() const { return quotas_; }
  /// Where calls wait until their first message is read.
  Reception& reception() const { return reception_; }

 private:
  /// Who calls. Errors: those of ProxiedCaller.
  absl::Status Identify(const grpc::ServerContextBase& call, audit::Actor& actor) const;
  /// Completes `permit`, but for its status.
  absl::Status Check(const grpc::ServerContextBase& call, roles::Role least, Permit& permit) const;

  const roles::Roster* const roster_;
  const std::vector<std::string> proxies_;
  const std::string node_name_;
  const std::function<absl::Time()> clock_;
  audit::Recorder* const recorder_;
  mutable roles::AttemptLimiter logged_;  // lines of refused calls
  mutable CallerQuotas quotas_;
  mutable Reception reception_;
};

}  // namespace isocenter::rpc
