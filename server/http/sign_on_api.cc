// Signing in by the identity provider: OpenID Connect, the authorization code flow with PKCE.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/http/apis.h"
#include "server/http/cookies.h"
#include "server/http/sign_on_flow.h"
#include "server/roles/openid/sign_on.h"

namespace isocenter::http {
namespace {

constexpr size_t kMostCodeBytes = 4096;
/// From the callback to the page, below whatever path a proxy serves both. No address that a
/// request names is ever led to.
constexpr char kPage[] = "../../../";

/// A page for people whom the provider has sent, with the words of an error as a sentence.
Response Explain(int status, absl::string_view sentence) {
  Response response{.status = status};
  response.body = absl::StrCat(
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Isocenter: not signed in"
      "</title><h1>You are not signed in</h1><p>",
      sentence, "</p><p><a href=\"", kPage, "\">Back to Isocenter</a></p></html>\n");
  response.Set("Content-Type", "text/html; charset=utf-8");
  return response;
}

int StatusOf(const absl::Status& error) {
  if (absl::IsUnavailable(error)) return 503;
  return absl::IsResourceExhausted(error) ? 429 : 403;
}

/// The value of a parameter that is there once; empty: it is not, or several times.
std::string OnlyValue(const Request& request, absl::string_view name) {
  const auto has_name = [name](const auto& each) { return each.first == name; };
  if (std::ranges::count_if(request.query, has_name) != 1) return "";
  return std::ranges::find_if(request.query, has_name)->second;
}

/// Errors of the provider are from a small set of words (RFC 6749, section 4.1.2.1).
std::string WordOf(const std::string& error) {
  const bool is_word = error.size() <= 40 && std::ranges::all_of(error, [](char c) {
                         return absl::ascii_islower(c) || c == '_';
                       });
  return is_word ? error : "an error";
}

class SignOnApi {
 public:
  SignOnApi(Access& access, std::function<absl::Time()> clock)
      : access_(access), clock_(std::move(clock)) {}

  /// Sends the browser to the provider.
  absl::StatusOr<Response> Begin(const Call& call) const {
    const openid::SignOn* const provider = access_.provider();
    if (provider == nullptr) return absl::NotFoundError("there is no identity provider");
    ISO_ASSIGN_OR_RETURN(const SignOnFlow::Begun begun, flow_.Begin(clock_()));
    const absl::StatusOr<std::string> url = provider->AuthorizationUrl(begun.secrets);
    if (!url.ok()) {
      return Explain(503, "The identity provider cannot be reached. Try again in a minute.");
    }
    return Response{.status = 302}
        .Set("Location", *url)
        .Set("Set-Cookie", CookieText(SignOnFlow::kCookie, begun.cookie, SignOnFlow::kLongest,
                                      SameSite::kLax, call.request.secure));
  }

  /// The browser comes back.
  absl::StatusOr<Response> Return(const Call& call) {
    openid::SignOn* const provider = access_.provider();
    if (provider == nullptr) return absl::NotFoundError("there is no identity provider");
    Response response = Take(*provider, call.request);
    return response.Set("Set-Cookie", CookieText(SignOnFlow::kCookie, "", absl::ZeroDuration(),
                                                 SameSite::kLax, call.request.secure));
  }

 private:
  Response Refuse(const Request& request, const absl::Status& shown, const absl::Status& recorded) {
    access_.OnFailedSignIn(request.remote_address, recorded);
    return Explain(StatusOf(shown), shown.message());
  }

  Response Take(openid::SignOn& provider, const Request& request) {
    const absl::Status may_try = access_.CheckAttempts(request.remote_address);
    if (!may_try.ok()) {
      return Explain(429,
                     "Too many sign-ins from this address have failed. Try again in a minute.");
    }
    const absl::StatusOr<openid::FlowSecrets> secrets =
        flow_.Resume(request.Cookie(SignOnFlow::kCookie), OnlyValue(request, "state"), clock_());
    if (!secrets.ok()) return Refuse(request, secrets.status(), secrets.status());
    // RFC 9207: another provider's answer would have us show its code to this one.
    const std::string issuer = OnlyValue(request, "iss");
    if (issuer != provider.issuer() &&
        (provider.names_itself() || request.Parameter("iss").has_value())) {
      const auto other = absl::PermissionDeniedError(
          "Another identity provider has answered than the one of this "
          "service.");
      return Refuse(request, other, other);
    }
    if (const std::string error = OnlyValue(request, "error"); !error.empty()) {
      const auto refused = absl::PermissionDeniedError(
          absl::StrCat("The identity provider answered: ", WordOf(error), "."));
      return Refuse(request, refused, refused);
    }
    const std::string code = OnlyValue(request, "code");
    if (code.empty() || code.size() > kMostCodeBytes) {
      const auto missing =
          absl::PermissionDeniedError("The identity provider's answer has no code.");
      return Refuse(request, missing, missing);
    }
    return Redeem(provider, request, code, *secrets);
  }

  Response Redeem(openid::SignOn& provider, const Request& request, const std::string& code,
                  const openid::FlowSecrets& secrets) {
    absl::StatusOr<openid::Verdict> verdict = provider.Redeem(code, secrets, clock_());
    if (absl::IsUnavailable(verdict.status())) {
      return Refuse(request,
                    absl::UnavailableError("The identity provider does not answer. Try again in a "
                                           "minute."),
                    verdict.status());
    }
    if (!verdict.ok()) {
      return Refuse(
          request,
          absl::PermissionDeniedError("The identity provider does not know of this sign-in."),
          verdict.status());
    }
    const bool has_no_role = verdict->refusal == openid::Refusal::kNoRole;
    const absl::StatusOr<Access::NewSession> session =
        access_.SignInByProvider(*std::move(verdict), request.remote_address);
    if (!session.ok()) {
      return Explain(StatusOf(session.status()),
                     has_no_role ? "The identity provider knows you, and none of your groups has a "
                                   "role here. Your administrator can give it one."
                                 : "What the identity provider said of you cannot be used. The "
                                   "audit trail of this service says why.");
    }
    return Response{.status = 302}
        .Set("Location", kPage)
        .Set("Set-Cookie",
             CookieText(Access::kCookie, session->id, session->caller.expires - clock_(),
                        SameSite::kStrict, request.secure));
  }

  Access& access_;
  const std::function<absl::Time()> clock_;
  SignOnFlow flow_;
};

}  // namespace

void AddSignOnRoutes(const WebEnvironment& environment, Access& access, Router& router) {
  const auto api = std::make_shared<SignOnApi>(access, environment.clock);
  router.AddOpen("GET", "/api/v1/session/provider",
                 [api](const Call& call) { return api->Begin(call); });
  router.AddOpen("GET", "/api/v1/session/callback",
                 [api](const Call& call) { return api->Return(call); });
}

}  // namespace isocenter::http
