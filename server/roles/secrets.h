// Random tokens, digests, and comparisons that take the same time whatever they find.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace isocenter::roles {

/// 32 bytes of the system's randomness as 64 hexadecimal digits. Empty: the system gave none.
std::string RandomToken();

/// 64 hexadecimal digits.
std::string Sha256Hex(absl::string_view text);

/// HMAC-SHA-256 as 64 hexadecimal digits.
std::string HmacHex(absl::string_view key, absl::string_view text);

/// In a time that depends on the lengths alone.
bool EqualInConstantTime(absl::string_view a, absl::string_view b);

}  // namespace isocenter::roles
