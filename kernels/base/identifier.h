// Names that stand in paths, file names and request metadata.
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace isocenter {

inline constexpr size_t kLongestIdentifier = 64;

/// Whether a text is `least` to kLongestIdentifier characters of [A-Za-z0-9_.-]: a name of a
/// station, a node, a job or a calibration set.
bool IsIdentifier(absl::string_view text, size_t least = 1);

}  // namespace isocenter
