// A file of limits for isocenter qa --limits. docs/qa.md, "Acceptance limits".
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/quality/limits.h"

namespace isocenter::cli {

inline constexpr uint64_t kMostLimitsBytes = 64 << 10;

/// {"limits": {"water_hu": {"min": -4, "max": 4}}}, of figures that have `names`; "comment" beside
/// "limits" is nobody's. `file` is how errors call it. Errors: INVALID_ARGUMENT with what is wrong;
/// those of ParseJsonObject and CheckLimits.
absl::StatusOr<std::vector<quality::Limit>> ParseLimits(absl::string_view text,
                                                        absl::string_view file,
                                                        const std::vector<std::string>& names);

}  // namespace isocenter::cli
