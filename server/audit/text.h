// What strangers send, as text that every reader of the trail takes.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace isocenter::audit {

/// How many bytes Bounded() may add to tell that it has cut.
inline constexpr size_t kCutMarkBytes = 40;

/// UTF-8 that XML 1.0 takes, in one line: blanks for control characters and for those that end a
/// line, U+FFFD for each byte of what is no character.
std::string Legal(absl::string_view text);

/// The same of at most `most` bytes; of longer text its beginning, and how long it was.
std::string Bounded(absl::string_view text, size_t most);

}  // namespace isocenter::audit
