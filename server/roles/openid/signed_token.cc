#include "server/roles/openid/signed_token.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/roles/openid/key_set.h"

namespace isocenter::openid {
namespace {

SignedToken Refused(Refusal refusal, std::string why) {
  return {.refusal = refusal, .why = std::move(why)};
}

/// Names of what else a provider signs with the same keys, as of a logout, are not of a token.
bool IsTypeOfToken(std::string type) {
  absl::AsciiStrToLower(&type);
  return type == "jwt" || type == "at+jwt" || type == "application/at+jwt";
}

}  // namespace

bool HasFormOfSignedToken(absl::string_view token) { return std::ranges::count(token, '.') == 2; }

SignedToken ParseSignedToken(absl::string_view token) {
  if (token.size() > kMostTokenBytes) {
    return Refused(Refusal::kTooLong, absl::StrCat("it has ", token.size(),
                                                   " bytes; legal are at most ", kMostTokenBytes));
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(token, '.');
  if (parts.size() != 3) return Refused(Refusal::kMalformed, "it has not three parts");
  const std::optional<std::string> header_text = DecodeBase64Url(parts[0]);
  const std::optional<std::string> claims_text = DecodeBase64Url(parts[1]);
  std::optional<std::string> signature = DecodeBase64Url(parts[2]);
  if (!header_text || !claims_text || !signature) {
    return Refused(Refusal::kMalformed, "a part of it is not in base64url");
  }
  const std::optional<Json> header = ParseObject(*header_text);
  if (!header) return Refused(Refusal::kMalformed, "its header is no JSON object");
  // An extension that must be understood, and is not.
  if (header->contains("crit")) return Refused(Refusal::kMalformed, "its header has 'crit'");
  if (header->contains("typ") && !IsTypeOfToken(TextOf(*header, "typ").value_or(""))) {
    return Refused(Refusal::kMalformed, "its header's 'typ' is not that of a token");
  }
  if (header->contains("kid") && !TextOf(*header, "kid")) {
    return Refused(Refusal::kMalformed, "its header's 'kid' is no text");
  }
  const std::string algorithm_name = TextOf(*header, "alg").value_or("");
  const auto algorithm = AlgorithmOf(algorithm_name);
  if (!algorithm) {
    return Refused(Refusal::kAlgorithm, absl::StrCat("its algorithm is '", Shown(algorithm_name),
                                                     "'; legal are RS256, PS256 and ES256"));
  }
  std::optional<Json> claims = ParseObject(*claims_text);
  if (!claims) return Refused(Refusal::kMalformed, "its claims are no JSON object");
  return {.algorithm = *algorithm,
          .key_id = TextOf(*header, "kid").value_or(""),
          .claims = *std::move(claims),
          .signed_text = token.substr(0, parts[0].size() + 1 + parts[1].size()),
          .signature = *std::move(signature)};
}

}  // namespace isocenter::openid
