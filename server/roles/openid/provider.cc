#include "server/roles/openid/provider.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "kernels/base/status_macros.h"
#include "server/base/protected_url.h"
#include "server/roles/openid/encoding.h"

namespace isocenter::openid {
namespace {

constexpr size_t kMostAnswerBytes = 64 << 10;  // beside key sets, which have a bound of their own
constexpr char kWellKnown[] = "/.well-known/openid-configuration";

absl::StatusOr<std::string> EndpointOf(const Json& about, const char* name) {
  std::string url = TextOf(about, name).value_or("");
  if (IsProtectedUrl(url)) return url;
  return absl::FailedPreconditionError(
      absl::StrCat("its '", name, "' is '", Shown(url), "'; legal is an https address"));
}

/// Whether a list of texts has one of them, or is not there.
bool MayHave(const Json& about, const char* name, const char* value) {
  const auto found = about.find(name);
  if (found == about.end() || !found->is_array()) return true;
  return std::ranges::any_of(*found, [&](const Json& each) { return each == value; });
}

}  // namespace

absl::StatusOr<std::string> Provider::Get(const std::string& url) const {
  ISO_ASSIGN_OR_RETURN(WebAnswer answer, fetch_({.url = url, .most_bytes = KeySet::kMostBytes}));
  if (answer.status == 200) return std::move(answer.body);
  return absl::UnavailableError(
      absl::StrCat(url, ": the provider answered with HTTP status ", answer.status));
}

absl::StatusOr<Endpoints> Provider::Discover() const {
  const std::string url = absl::StrCat(absl::StripSuffix(issuer_, "/"), kWellKnown);
  ISO_ASSIGN_OR_RETURN(const std::string text, Get(url));
  const std::optional<Json> about = ParseObject(text);
  if (!about) return absl::FailedPreconditionError(absl::StrCat(url, " is no JSON object"));
  const std::string issuer = TextOf(*about, "issuer").value_or("");
  if (issuer != issuer_) {
    return absl::FailedPreconditionError(
        absl::StrCat(url, ": its 'issuer' is '", Shown(issuer), "'; legal is '", issuer_, "'"));
  }
  if (!MayHave(*about, "code_challenge_methods_supported", "S256")) {
    return absl::FailedPreconditionError(absl::StrCat(url, ": it does not know PKCE by S256"));
  }
  Endpoints endpoints;
  ISO_ASSIGN_OR_RETURN(endpoints.authorization, EndpointOf(*about, "authorization_endpoint"));
  ISO_ASSIGN_OR_RETURN(endpoints.token, EndpointOf(*about, "token_endpoint"));
  ISO_ASSIGN_OR_RETURN(endpoints.keys, EndpointOf(*about, "jwks_uri"));
  const auto names_itself = about->find("authorization_response_iss_parameter_supported");
  endpoints.takes_basic =
      MayHave(*about, "token_endpoint_auth_methods_supported", "client_secret_basic");
  endpoints.names_itself = names_itself != about->end() && *names_itself == true;
  return endpoints;
}

absl::StatusOr<KeySet> Provider::FetchKeys(const Endpoints& endpoints) const {
  ISO_ASSIGN_OR_RETURN(const std::string text, Get(endpoints.keys));
  return KeySet::Parse(text);
}

absl::StatusOr<std::string> Provider::Redeem(const Endpoints& endpoints,
                                             const ClientIdentity& client,
                                             const CodeGrant& grant) const {
  WebRequest request{
      .url = endpoints.token,
      .form = absl::StrCat("grant_type=authorization_code&code=", EncodeForm(grant.code),
                           "&redirect_uri=", EncodeForm(grant.redirect_uri),
                           "&code_verifier=", EncodeForm(grant.verifier)),
      .most_bytes = kMostAnswerBytes};
  if (client.secret.empty() || !endpoints.takes_basic) {
    absl::StrAppend(&request.form, "&client_id=", EncodeForm(client.id));
    if (!client.secret.empty()) {
      absl::StrAppend(&request.form, "&client_secret=", EncodeForm(client.secret));
    }
  } else {
    request.user = EncodeForm(client.id);  // RFC 6749, section 2.3.1
    request.password = EncodeForm(client.secret);
  }
  ISO_ASSIGN_OR_RETURN(const WebAnswer answer, fetch_(request));
  const Json body = ParseObject(answer.body).value_or(Json::object());
  if (answer.status >= 500) {
    return absl::UnavailableError(absl::StrCat(endpoints.token, ": HTTP status ", answer.status));
  }
  if (answer.status != 200) {
    return absl::PermissionDeniedError(
        absl::StrCat("the provider does not take the code: HTTP status ", answer.status,
                     ", error '", Shown(TextOf(body, "error").value_or("")), "'"));
  }
  std::optional<std::string> token = TextOf(body, "id_token");
  if (!token) return absl::PermissionDeniedError("the provider's answer has no ID token");
  return *std::move(token);
}

}  // namespace isocenter::openid
