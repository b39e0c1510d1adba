#include "server/roles/openid/sign_on.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/status_macros.h"
#include "server/crypto/digests.h"
#include "server/roles/openid/encoding.h"

namespace isocenter::openid {

SignOn::SignOn(SignOnSettings settings, Fetch fetch)
    : settings_(std::move(settings)),
      provider_(settings_.rules.issuer, std::move(fetch)),
      watch_(provider_, settings_.times) {}

Verdict SignOn::CheckAgainstKeys(absl::string_view token, const Purpose& purpose, absl::Time now) {
  const SignedToken parsed = ParseSignedToken(token);
  if (parsed.refusal != Refusal::kNone) return Refuse(parsed.refusal, parsed.why);
  const std::shared_ptr<const KeySet> keys = watch_.keys();
  if (keys == nullptr) {
    return Refuse(Refusal::kNoKeys, "the provider's keys have not been fetched yet");
  }
  Verdict verdict = Verify(parsed, *keys, settings_.rules, purpose, now);
  if (verdict.refusal == Refusal::kUnknownKey && watch_.AskForNewKeys()) {
    verdict.refusal = Refusal::kNoKeys;
    absl::StrAppend(&verdict.why, "; its keys are being fetched anew");
  }
  return verdict;
}

Verdict SignOn::Check(absl::string_view token, absl::Time now) {
  return CheckAgainstKeys(token, {.audience = settings_.audience}, now);
}

absl::StatusOr<std::string> SignOn::AuthorizationUrl(const FlowSecrets& secrets) const {
  const std::optional<Endpoints> endpoints = watch_.endpoints();
  if (!endpoints) return absl::UnavailableError("the identity provider has not answered yet");
  const std::string challenge =
      EncodeBase64Url(absl::HexStringToBytes(crypto::Sha256Hex(secrets.verifier)));
  return absl::StrCat(endpoints->authorization,
                      absl::StrContains(endpoints->authorization, '?') ? "&" : "?",
                      "response_type=code&client_id=", EncodeForm(settings_.client.id),
                      "&redirect_uri=", EncodeForm(settings_.redirect_uri),
                      "&scope=", EncodeForm(absl::StrJoin(settings_.scopes, " ")),
                      "&state=", EncodeForm(secrets.state), "&nonce=", EncodeForm(secrets.nonce),
                      "&code_challenge=", challenge, "&code_challenge_method=S256");
}

bool SignOn::names_itself() const {
  const std::optional<Endpoints> endpoints = watch_.endpoints();
  return endpoints && endpoints->names_itself;
}

absl::StatusOr<Verdict> SignOn::Redeem(const std::string& code, const FlowSecrets& secrets,
                                       absl::Time now) {
  const std::optional<Endpoints> endpoints = watch_.endpoints();
  if (!endpoints) return absl::UnavailableError("the identity provider has not answered yet");
  ISO_ASSIGN_OR_RETURN(
      const std::string token,
      provider_.Redeem(
          *endpoints, settings_.client,
          {.code = code, .redirect_uri = settings_.redirect_uri, .verifier = secrets.verifier}));
  const Purpose purpose{.audience = settings_.client.id, .nonce = secrets.nonce};
  Verdict verdict = CheckAgainstKeys(token, purpose, now);
  if (verdict.refusal != Refusal::kNoKeys) return verdict;
  // The provider itself has just given us this token: a new key of its is worth to be waited for.
  watch_.AwaitFetch(kLongestAnswer);
  return CheckAgainstKeys(token, purpose, now);
}

}  // namespace isocenter::openid
