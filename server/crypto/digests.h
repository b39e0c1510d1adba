// Digests, random tokens, and comparisons that take the same time whatever they find.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace isocenter::crypto {

/// 32 bytes of the system's randomness as 64 hexadecimal digits. Empty: the system gave none.
std::string RandomToken();

/// 64 hexadecimal digits.
std::string Sha256Hex(absl::string_view text);

/// For names that a standard makes of it.
std::array<uint8_t, 20> Sha1(absl::string_view text);

/// HMAC-SHA-256 as 64 hexadecimal digits.
std::string HmacHex(absl::string_view key, absl::string_view text);

/// In a time that depends on the lengths alone.
bool EqualInConstantTime(absl::string_view a, absl::string_view b);

}  // namespace isocenter::crypto
