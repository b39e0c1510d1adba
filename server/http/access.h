// Who asks, and whether he may.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/audit/event.h"
#include "server/http/transport/http.h"
#include "server/roles/attempt_limiter.h"
#include "server/roles/role.h"
#include "server/roles/roster.h"

namespace isocenter::openid {
class SignOn;
}

namespace isocenter::http {

using roles::Role;

/// How a caller showed who he is.
enum class Via { kBearer, kSession, kProvider, kCertificate, kLoopback };

struct Caller {
  std::string name;
  Role role = Role::kViewer;
  Via via = Via::kLoopback;
  std::string csrf_token;                       // empty for kBearer, which needs none
  absl::Time expires = absl::InfiniteFuture();  // of a session, or of the token
};

/// Thread-safe.
class Access {
 public:
  static constexpr absl::Duration kSessionLength = absl::Hours(12);
  static constexpr size_t kMostSessions = 1000;
  static constexpr char kCookie[] = "isocenter_session";

  /// The roster must outlive this, as the recorder of who signs in and out, which may be null.
  explicit Access(const roles::Roster& roster, std::function<absl::Time()> clock = absl::Now,
                  audit::Recorder* recorder = nullptr);

  /// Nobody has a role: whoever reaches the server may.
  bool is_open() const { return roster_.is_open(); }
  bool takes_tokens() const { return roster_.takes_tokens(); }

  /// Null: there is no identity provider that people could sign in with.
  openid::SignOn* provider() const;

  /// Errors: UNAUTHENTICATED; RESOURCE_EXHAUSTED (too many failures; see RetryAfter); of a token of
  /// the identity provider also PERMISSION_DENIED (it gives no role), UNAVAILABLE (the provider is
  /// being asked for its keys).
  absl::StatusOr<Caller> Identify(const Request& request);
  /// Whether a request that changes something comes from the page itself. Errors:
  /// PERMISSION_DENIED.
  absl::Status CheckOrigin(const Request& request, const Caller& caller) const;
  /// Without sign-in only names of this machine are answered to: a foreign name that leads here is
  /// a page that uses a browser of this machine. Errors: INVALID_ARGUMENT.
  absl::Status CheckHost(const Request& request) const;

  struct NewSession {
    std::string id;  // for the cookie
    Caller caller;
  };
  /// Errors: those of Identify, UNAVAILABLE (no randomness).
  absl::StatusOr<NewSession> SignIn(const std::string& token, const std::string& address);
  /// With what the identity provider has said of who came back from it. Errors: the same.
  absl::StatusOr<NewSession> SignInByProvider(openid::Verdict verdict, const std::string& address);
  /// RESOURCE_EXHAUSTED: too many failures of that address.
  absl::Status CheckAttempts(const std::string& address);
  /// Counts as a failure, and is recorded.
  void OnFailedSignIn(const std::string& address, const absl::Status& why);
  /// Ends the session of the request, if it has one.
  void SignOut(const Request& request);

  /// How long that address has to wait after too many failures.
  absl::Duration RetryAfter(const std::string& address) { return limiter_.Wait(address, clock_()); }

 private:
  struct Session {
    roles::TokenHolder holder;
    absl::Time expires;
  };

  absl::StatusOr<roles::TokenHolder> CheckToken(absl::string_view token,
                                                const std::string& address);
  absl::StatusOr<roles::TokenHolder> Take(roles::TokenCheck check, const std::string& address);
  absl::StatusOr<NewSession> Begin(roles::TokenHolder holder, const std::string& address);
  /// `more` says what else there is to say.
  void Record(audit::Action action, audit::Actor actor, const absl::Status& outcome,
              const std::function<void(audit::Event&)>& more = nullptr) const;
  void CountFailure(const std::string& address);
  std::optional<Caller> FindSession(const std::string& id);
  Caller CallerOf(const Session& session, const std::string& digest) const;
  /// Bound to whom it is given; another one after a restart.
  std::string CsrfToken(absl::string_view bound_to) const;

  const roles::Roster& roster_;
  const std::function<absl::Time()> clock_;
  audit::Recorder* const recorder_;
  const std::string secret_;
  roles::AttemptLimiter limiter_;
  absl::Mutex mutex_;
  std::map<std::string, Session> sessions_ ABSL_GUARDED_BY(mutex_);  // by SHA-256 of the id
};

}  // namespace isocenter::http
