#include "server/roles/openid/verification.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace isocenter::openid {
namespace {

constexpr size_t kMostNameBytes = 64;
constexpr size_t kMostSubjectBytes = 255;  // OpenID Connect Core 1.0, section 2
constexpr size_t kMostGroups = 1000;

/// The year 9999: what is beyond is no time that somebody has meant.
constexpr double kLatest = 253402300799.0;

/// A claim that is seconds since 1970. `legal` becomes false where it is there and is none.
std::optional<absl::Time> TimeOf(const Json& claims, const char* name, bool& legal) {
  const auto found = claims.find(name);
  if (found == claims.end()) return std::nullopt;
  const double seconds = found->is_number() ? found->get<double>() : -1;
  if (!(seconds >= 0 && seconds <= kLatest)) {
    legal = false;
    return std::nullopt;
  }
  return absl::FromUnixMillis(static_cast<int64_t>(std::floor(seconds * 1000)));
}

bool IsFor(const Json& claims, const std::string& audience) {
  const auto found = claims.find("aud");
  if (found == claims.end()) return false;
  if (!found->is_array()) return *found == audience;
  return std::ranges::any_of(*found, [&](const Json& each) { return each == audience; });
}

/// The claim at the end of a path of names, or of the path as a name, as some are addresses; null:
/// it is not there.
const Json* ClaimAt(const Json& claims, absl::string_view path) {
  if (const auto whole = claims.find(std::string(path)); whole != claims.end()) return &*whole;
  const Json* claim = &claims;
  for (const absl::string_view name : absl::StrSplit(path, '.')) {
    if (!claim->is_object()) return nullptr;
    const auto found = claim->find(std::string(name));
    if (found == claim->end()) return nullptr;
    claim = &*found;
  }
  return claim;
}

/// The claims of OAuth that have many values in one text.
bool IsListOfWords(absl::string_view path) {
  const absl::string_view name = path.substr(path.rfind('.') + 1);
  return name == "scope" || name == "scp";
}

std::vector<std::string> GroupsOf(const Json& claims, const std::string& path) {
  const Json* claim = ClaimAt(claims, path);
  if (claim == nullptr) return {};
  if (claim->is_string()) {
    if (IsListOfWords(path)) return absl::StrSplit(claim->get<std::string>(), ' ');
    return {claim->get<std::string>()};
  }
  std::vector<std::string> groups;
  if (!claim->is_array() || claim->size() > kMostGroups) return groups;
  for (const Json& each : *claim) {
    if (each.is_string()) groups.push_back(each.get<std::string>());
  }
  return groups;
}

std::optional<roles::Role> RoleOf(const Json& claims, const ClaimRules& rules) {
  const std::vector<std::string> groups = GroupsOf(claims, rules.groups_claim);
  std::optional<roles::Role> most;
  for (const GroupRole& each : rules.roles) {
    if (std::ranges::find(groups, each.group) == groups.end()) continue;
    if (!most || *most < each.role) most = each.role;
  }
  return most;
}

/// For people; the subject, where there is no other.
std::string NameOf(const Json& claims, const ClaimRules& rules, const std::string& subject) {
  const Json* claim = ClaimAt(claims, rules.name_claim);
  std::string name = claim != nullptr && claim->is_string() ? claim->get<std::string>() : "";
  std::erase_if(name, absl::ascii_iscntrl);
  if (name.empty()) name = subject;
  if (name.size() <= kMostNameBytes) return name;
  size_t end = kMostNameBytes;  // not within a character of UTF-8
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
  return name.substr(0, end);
}

Verdict Genuine(Refusal refusal, std::string why) {
  return Refuse(refusal, std::move(why), /*is_genuine=*/true);
}

std::optional<Verdict> CheckTimes(const Json& claims, absl::Duration leeway, absl::Time now) {
  bool legal = true;
  const auto expires = TimeOf(claims, "exp", legal);
  const auto begins = TimeOf(claims, "nbf", legal);
  const auto issued = TimeOf(claims, "iat", legal);
  if (!legal || !expires) {
    return Genuine(Refusal::kMalformed, "it has no 'exp', or a time that is none");
  }
  if (*expires + leeway <= now) {
    return Genuine(Refusal::kExpired, absl::StrCat("it ended at ", absl::FormatTime(*expires)));
  }
  for (const auto& since : {begins, issued}) {
    if (!since || *since <= now + leeway) continue;
    return Genuine(Refusal::kNotYetValid,
                   absl::StrCat("it holds from ", absl::FormatTime(*since), " on"));
  }
  return std::nullopt;
}

std::optional<Verdict> CheckPurpose(const Json& claims, const ClaimRules& rules,
                                    const Purpose& purpose) {
  const std::string issuer = TextOf(claims, "iss").value_or("");
  if (issuer != rules.issuer) {
    return Genuine(Refusal::kIssuer, absl::StrCat("its issuer is '", Shown(issuer), "'"));
  }
  if (!IsFor(claims, purpose.audience)) {
    return Genuine(Refusal::kAudience,
                   absl::StrCat("it is not for '", purpose.audience, "' ('aud')"));
  }
  if (purpose.nonce.empty()) return std::nullopt;
  if (TextOf(claims, "nonce").value_or("") != purpose.nonce) {
    return Genuine(Refusal::kNonce, "it is not of the sign-in that began here");
  }
  if (claims.contains("azp") && TextOf(claims, "azp").value_or("") != purpose.audience) {
    return Genuine(Refusal::kAudience, "it was made for another party ('azp')");
  }
  return std::nullopt;
}

bool IsSigned(const SignedToken& token, const std::vector<const Key*>& keys) {
  return std::ranges::any_of(keys, [&](const Key* key) {
    return key->key.Vouches(token.algorithm, token.signed_text, token.signature);
  });
}

}  // namespace

Verdict Verify(const SignedToken& token, const KeySet& keys, const ClaimRules& rules,
               const Purpose& purpose, absl::Time now) {
  if (token.refusal != Refusal::kNone) return Refuse(token.refusal, token.why);
  const std::vector<const Key*> found = keys.Find(token.key_id, token.algorithm);
  if (found.empty()) {
    if (!token.key_id.empty() && keys.Has(token.key_id)) {
      return Refuse(Refusal::kAlgorithm,
                    absl::StrCat("the key '", Shown(token.key_id), "' is not for its algorithm"));
    }
    return Refuse(Refusal::kUnknownKey,
                  absl::StrCat("the provider has no key '", Shown(token.key_id), "'"));
  }
  if (!IsSigned(token, found)) return Refuse(Refusal::kSignature, "its signature is wrong");
  return JudgeClaims(token.claims, rules, purpose, now);
}

Verdict JudgeClaims(const Json& claims, const ClaimRules& rules, const Purpose& purpose,
                    absl::Time now) {
  if (auto refused = CheckPurpose(claims, rules, purpose)) return *std::move(refused);
  if (auto refused = CheckTimes(claims, rules.leeway, now)) return *std::move(refused);
  const std::string subject = TextOf(claims, "sub").value_or("");
  if (subject.empty() || subject.size() > kMostSubjectBytes ||
      !std::ranges::all_of(subject, absl::ascii_isprint)) {
    return Genuine(Refusal::kMalformed, "its 'sub' is not 1 to 255 characters of ASCII");
  }
  const std::optional<roles::Role> role = RoleOf(claims, rules);
  if (!role) {
    return Genuine(Refusal::kNoRole, absl::StrCat("no group of '", Shown(subject), "' in claim '",
                                                  rules.groups_claim, "' has a role"));
  }
  bool legal = true;
  return {.holder = roles::TokenHolder{.role = *role,
                                       .name = NameOf(claims, rules, subject),
                                       .subject = subject,
                                       .expires = *TimeOf(claims, "exp", legal)},
          .is_genuine = true};
}

}  // namespace isocenter::openid
