// A token as it comes in: JSON Web Token in the compact form of RFC 7515. Nothing of it is believed
// here.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "server/crypto/signatures.h"
#include "server/roles/openid/encoding.h"
#include "server/roles/openid/verdict.h"

namespace isocenter::openid {

struct SignedToken {
  Refusal refusal = Refusal::kNone;
  std::string why;  // of a refusal, for the audit trail

  crypto::SignatureAlgorithm algorithm = crypto::SignatureAlgorithm::kRs256;
  std::string key_id;  // empty: none is named
  Json claims;
  absl::string_view signed_text;  // of the token that was parsed
  std::string signature;
};

inline constexpr size_t kMostTokenBytes = 8 << 10;

/// Whether it looks like one: two dots.
bool HasFormOfSignedToken(absl::string_view token);

/// Refuses: kTooLong, kMalformed, kAlgorithm. `token` must outlive the result.
SignedToken ParseSignedToken(absl::string_view token);

}  // namespace isocenter::openid
