// Lists of frames on the command line.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/statusor.h"

namespace isocenter::cli {

/// "10,20-22" is 10, 20, 21 and 22; an empty text is none. Errors: INVALID_ARGUMENT (a frame that
/// is not among the `frame_count` of the acquisition, all of them).
absl::StatusOr<std::set<uint32_t>> ParseFrameList(const std::string& text, uint32_t frame_count);

}  // namespace isocenter::cli
