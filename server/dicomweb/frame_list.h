// Numbers of frames as paths list them.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::dicomweb {

/// "1,3,5", counted from one, each once (PS3.18, 10.1.1.1), in any order. Errors: INVALID_ARGUMENT
/// (no number), NOT_FOUND (more than `frames`, which has none).
absl::StatusOr<std::vector<int>> ParseFrames(absl::string_view text, int frames);

}  // namespace isocenter::dicomweb
