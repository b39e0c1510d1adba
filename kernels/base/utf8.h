// Texts that come from outside are UTF-8, or are refused.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace isocenter {

/// "not UTF-8: byte 0xFC at offset 1" of the first byte that belongs to no character (Unicode 15,
/// table 3-7: no surrogates, no overlong forms, nothing beyond U+10FFFF); empty: the text is UTF-8.
std::string NotUtf8(absl::string_view text);

}  // namespace isocenter
