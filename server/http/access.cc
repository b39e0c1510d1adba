#include "server/http/access.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/crypto/digests.h"
#include "server/roles/openid/sign_on.h"

namespace isocenter::http {
namespace {

absl::Status NotSignedIn() { return absl::UnauthenticatedError("sign in first"); }

/// Without the port.
absl::string_view HostName(absl::string_view host) {
  if (absl::StartsWith(host, "[")) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

bool NamesThisMachine(absl::string_view name) {
  return absl::EqualsIgnoreCase(name, "localhost") || name == "[::1]" ||
         (absl::StartsWith(name, "127.") &&
          name.find_first_not_of("0123456789.") == absl::string_view::npos);
}

}  // namespace

Access::Access(const roles::Roster& roster, std::function<absl::Time()> clock,
               audit::Recorder* recorder)
    : roster_(roster),
      clock_(std::move(clock)),
      recorder_(recorder),
      secret_(crypto::RandomToken()) {}

void Access::Record(audit::Action action, audit::Actor actor, const absl::Status& outcome,
                    const std::function<void(audit::Event&)>& more) const {
  if (recorder_ == nullptr) return;
  audit::Event event{.action = action,
                     .outcome = outcome.ok() ? audit::Outcome::kSuccess : audit::Outcome::kRefused,
                     .actor = std::move(actor),
                     .service = "http",
                     .detail = outcome.ok() ? "" : outcome.ToString()};
  if (more != nullptr) more(event);
  recorder_->Record(std::move(event));
}

std::string Access::CsrfToken(absl::string_view bound_to) const {
  return crypto::HmacHex(secret_, bound_to);
}

openid::SignOn* Access::provider() const {
  openid::SignOn* const sign_on = roster_.sign_on();
  return sign_on != nullptr && sign_on->has_page() ? sign_on : nullptr;
}

absl::Status Access::CheckAttempts(const std::string& address) {
  if (limiter_.Wait(address, clock_()) == absl::ZeroDuration()) return absl::OkStatus();
  const auto wait = absl::ResourceExhaustedError(
      "too many wrong tokens came from this address; try again in a minute");
  Record(audit::Action::kSignIn, {.address = address}, wait);
  return wait;
}

void Access::CountFailure(const std::string& address) {
  limiter_.OnFailure(address, clock_());
  spdlog::warn("event=sign_in_failed address={}", address);
}

void Access::OnFailedSignIn(const std::string& address, const absl::Status& why) {
  CountFailure(address);
  Record(audit::Action::kSignIn, {.address = address}, why);
}

absl::StatusOr<roles::TokenHolder> Access::CheckToken(absl::string_view token,
                                                      const std::string& address) {
  roles::TokenCheck check = roster_.CheckToken(token, clock_());
  // The right one does not wait: a whole hospital may have one address (docs/adr/0139).
  if (!check.holder) ISO_RETURN_IF_ERROR(CheckAttempts(address));
  return Take(std::move(check), address);
}

absl::StatusOr<roles::TokenHolder> Access::Take(roles::TokenCheck check,
                                                const std::string& address) {
  if (check.holder) return *std::move(check.holder);
  const roles::TokenRefusal& refusal = check.refusal;
  if (refusal.may_be_a_guess) CountFailure(address);
  Record(audit::Action::kSignIn, {.address = address}, refusal.record,
         [&refusal](audit::Event& event) { event.query = {roles::RefusalKey(refusal)}; });
  return refusal.answer;
}

absl::StatusOr<Caller> Access::Identify(const Request& request) {
  const absl::string_view authorization = request.Header("authorization");
  if (!authorization.empty()) {
    const absl::string_view token = roles::BearerToken(authorization);
    if (token.empty()) {
      return absl::UnauthenticatedError("Authorization is of another scheme; legal is Bearer");
    }
    ISO_ASSIGN_OR_RETURN(const roles::TokenHolder holder,
                         CheckToken(token, request.remote_address));
    return Caller{
        .name = holder.name, .role = holder.role, .via = Via::kBearer, .expires = holder.expires};
  }
  if (const absl::string_view cookie = request.Cookie(kCookie); !cookie.empty()) {
    if (std::optional<Caller> caller = FindSession(std::string(cookie))) return *std::move(caller);
  }
  const std::string& subject = request.certificate_subject;
  if (const std::optional<Role> role = roster_.FindCertificate(subject)) {
    return Caller{.name = subject,
                  .role = *role,
                  .via = Via::kCertificate,
                  .csrf_token = CsrfToken(absl::StrCat("certificate ", subject))};
  }
  if (!is_open()) return NotSignedIn();
  return Caller{.name = "this machine",
                .role = Role::kOperator,
                .via = Via::kLoopback,
                .csrf_token = CsrfToken("loopback")};
}

absl::Status Access::CheckOrigin(const Request& request, const Caller& caller) const {
  if (caller.via == Via::kBearer) return absl::OkStatus();  // no browser adds it by itself
  const absl::string_view origin = request.Header("origin");
  if (!origin.empty()) {
    // Not the scheme: TLS may end at a proxy before this server.
    const size_t scheme = origin.find("://");
    if (scheme == absl::string_view::npos ||
        !absl::EqualsIgnoreCase(origin.substr(scheme + 3), request.Header("host"))) {
      return absl::PermissionDeniedError("the request comes from another site");
    }
  }
  const absl::string_view site = request.Header("sec-fetch-site");
  if (!site.empty() && site != "same-origin" && site != "none") {
    return absl::PermissionDeniedError("the request comes from another site");
  }
  if (!crypto::EqualInConstantTime(request.Header("x-csrf-token"), caller.csrf_token)) {
    return absl::PermissionDeniedError(
        "X-CSRF-Token is missing or wrong; GET /api/v1/session has it");
  }
  return absl::OkStatus();
}

absl::Status Access::CheckHost(const Request& request) const {
  if (!is_open() || NamesThisMachine(HostName(request.Header("host")))) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Host is '", request.Header("host"),
                   "'; without sign-in legal are localhost, 127.0.0.1 and [::1]"));
}

absl::StatusOr<Access::NewSession> Access::SignIn(const std::string& token,
                                                  const std::string& address) {
  ISO_ASSIGN_OR_RETURN(roles::TokenHolder holder, CheckToken(token, address));
  return Begin(std::move(holder), address);
}

absl::StatusOr<Access::NewSession> Access::SignInByProvider(openid::Verdict verdict,
                                                            const std::string& address) {
  ISO_ASSIGN_OR_RETURN(roles::TokenHolder holder, Take(roster_.Judge(std::move(verdict)), address));
  return Begin(std::move(holder), address);
}

absl::StatusOr<Access::NewSession> Access::Begin(roles::TokenHolder holder,
                                                 const std::string& address) {
  std::string id = crypto::RandomToken();
  if (id.empty()) return absl::UnavailableError("the system gives no random numbers");
  const absl::Time now = clock_();
  const std::string digest = crypto::Sha256Hex(id);
  spdlog::info("event=signed_in name=\"{}\" role={} address={}", holder.name,
               std::string(Name(holder.role)), address);
  Record(audit::Action::kSignIn, {.name = holder.name, .address = address, .is_known = true},
         absl::OkStatus(), [&holder](audit::Event& event) { event.detail = holder.identity(); });
  absl::MutexLock lock(&mutex_);
  std::erase_if(sessions_, [now](const auto& entry) { return entry.second.expires <= now; });
  if (sessions_.size() >= kMostSessions) {
    sessions_.erase(std::ranges::min_element(
        sessions_, {}, [](const auto& entry) { return entry.second.expires; }));
  }
  const absl::Time expires = std::min(now + kSessionLength, holder.expires);
  const Session session{std::move(holder), expires};
  sessions_[digest] = session;
  return NewSession{std::move(id), CallerOf(session, digest)};
}

Caller Access::CallerOf(const Session& session, const std::string& digest) const {
  return {.name = session.holder.name,
          .role = session.holder.role,
          .via = session.holder.subject.empty() ? Via::kSession : Via::kProvider,
          .csrf_token = CsrfToken(absl::StrCat("session ", digest)),
          .expires = session.expires};
}

std::optional<Caller> Access::FindSession(const std::string& id) {
  // Found by its digest: what the time of a search tells of a digest leads to no id.
  const std::string digest = crypto::Sha256Hex(id);
  absl::MutexLock lock(&mutex_);
  const auto found = sessions_.find(digest);
  if (found == sessions_.end()) return std::nullopt;
  const Session& session = found->second;
  const absl::Time now = clock_();
  if (session.expires <= now || !roster_.Has(session.holder, now)) {
    sessions_.erase(found);  // also when the token was taken back
    return std::nullopt;
  }
  return CallerOf(session, digest);
}

void Access::SignOut(const Request& request) {
  const absl::string_view cookie = request.Cookie(kCookie);
  if (cookie.empty()) return;
  absl::MutexLock lock(&mutex_);
  const auto session = sessions_.find(crypto::Sha256Hex(cookie));
  if (session == sessions_.end()) return;
  Record(audit::Action::kSignOut,
         {.name = session->second.holder.name, .address = request.remote_address, .is_known = true},
         absl::OkStatus());
  sessions_.erase(session);
}

}  // namespace isocenter::http
