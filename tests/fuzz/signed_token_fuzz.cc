// A token that somebody shows, and what an identity provider answers. An input is a token up to a
// NUL, the claims of one whose signature is good up to the next, and a key set.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "server/roles/openid/verification.h"
#include "tests/fuzz/input.h"

using namespace isocenter;          // NOLINT
using namespace isocenter::openid;  // NOLINT

namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
const ClaimRules kRules{.issuer = "https://id.example",
                        .groups_claim = "a.groups",
                        .name_claim = "name",
                        .roles = {{"ct", roles::Role::kOperator}},
                        .leeway = absl::Seconds(30)};

void CheckToken(absl::string_view text) {
  using fuzz::Require;
  const SignedToken token = ParseSignedToken(text);
  if (token.refusal != Refusal::kNone) {
    Require(!token.why.empty() && token.why.size() < 400, "a refusal says why, and not at length");
    return;
  }
  Require(text.size() <= kMostTokenBytes, "a token is bounded");
  Require(token.claims.is_object(), "claims are an object");
  Require(text == absl::StrCat(token.signed_text, ".", EncodeBase64Url(token.signature)),
          "a token has one form");
}

void CheckClaims(absl::string_view text) {
  using fuzz::Require;
  const auto claims = ParseObject(text);
  if (!claims) return;
  const Verdict verdict = JudgeClaims(*claims, kRules, {.audience = "isocenter"}, kNow);
  Require(verdict.is_genuine, "its signature was good");
  if (!verdict.holder) return;
  const roles::TokenHolder& holder = *verdict.holder;
  Require(holder.expires + kRules.leeway > kNow, "it has not ended");
  Require(!holder.subject.empty() && holder.subject.size() <= 255, "its holder is known");
  Require(!holder.name.empty() && holder.name.size() <= 64, "its holder has a name");
  Require(absl::StrContains(text, "isocenter") || absl::StrContains(text, "\\u"), "it is for us");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  CheckToken(input.TakeText());
  CheckClaims(input.TakeText());
  const auto keys = KeySet::Parse(input.TakeRest());
  if (keys.ok()) fuzz::Require(keys->size() > 0 && keys->size() <= KeySet::kMostKeys, "keys");
  return 0;
}
