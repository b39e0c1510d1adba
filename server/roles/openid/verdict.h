// What becomes of a token that an identity provider is said to have signed.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "server/roles/token_holder.h"

namespace isocenter::openid {

/// Why a token is refused; in the audit trail and in metrics.
enum class Refusal {
  kNone,
  kUnknownToken,  // neither listed nor of the form that a provider signs
  kTooLong,
  kMalformed,
  kAlgorithm,  // none, one with a shared secret, or another than the key is for
  kUnknownKey,
  kNoKeys,  // the provider's have not been fetched yet, or are being fetched once more
  kSignature,
  kIssuer,
  kAudience,
  kNonce,
  kExpired,
  kNotYetValid,
  kNoRole,
};

inline constexpr Refusal kAllRefusals[] = {
    Refusal::kUnknownToken, Refusal::kTooLong, Refusal::kMalformed, Refusal::kAlgorithm,
    Refusal::kUnknownKey,   Refusal::kNoKeys,  Refusal::kSignature, Refusal::kIssuer,
    Refusal::kAudience,     Refusal::kNonce,   Refusal::kExpired,   Refusal::kNotYetValid,
    Refusal::kNoRole};

/// "unknown_token", ...
absl::string_view Name(Refusal refusal);

struct Verdict {
  std::optional<roles::TokenHolder> holder;  // it is good
  Refusal refusal = Refusal::kNone;
  std::string why;  // of a refusal, for the audit trail
  /// The provider has signed it; whoever shows a token that is not may be guessing.
  bool is_genuine = false;
};

/// A verdict without a holder.
Verdict Refuse(Refusal refusal, std::string why, bool is_genuine = false);

}  // namespace isocenter::openid
