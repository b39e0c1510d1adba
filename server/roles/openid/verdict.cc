#include "server/roles/openid/verdict.h"

#include <utility>

namespace isocenter::openid {

absl::string_view Name(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return "none";
    case Refusal::kUnknownToken:
      return "unknown_token";
    case Refusal::kTooLong:
      return "too_long";
    case Refusal::kMalformed:
      return "malformed";
    case Refusal::kAlgorithm:
      return "algorithm";
    case Refusal::kUnknownKey:
      return "unknown_key";
    case Refusal::kNoKeys:
      return "no_keys";
    case Refusal::kSignature:
      return "signature";
    case Refusal::kIssuer:
      return "issuer";
    case Refusal::kAudience:
      return "audience";
    case Refusal::kNonce:
      return "nonce";
    case Refusal::kExpired:
      return "expired";
    case Refusal::kNotYetValid:
      return "not_yet_valid";
    case Refusal::kNoRole:
      return "no_role";
  }
  return "unknown";
}

Verdict Refuse(Refusal refusal, std::string why, bool is_genuine) {
  return {.refusal = refusal, .why = std::move(why), .is_genuine = is_genuine};
}

}  // namespace isocenter::openid
