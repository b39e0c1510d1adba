// What isocenter qa has measured, as JSON; and a baseline out of such a file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/quality/constancy.h"
#include "kernels/quality/limits.h"

namespace isocenter::cli {

/// docs/qa.md, "The JSON file".
nlohmann::ordered_json ToJson(const quality::PhantomStudy& study);
nlohmann::ordered_json ToJson(const std::vector<quality::Measure>& measures);
nlohmann::ordered_json ToJson(const std::vector<quality::Verdict>& verdicts);
nlohmann::ordered_json ToJson(const std::vector<quality::LimitVerdict>& verdicts);

inline constexpr uint64_t kMostBaselineBytes = 4 << 20;

/// The measures of such a file, which have been checked. `file` is how errors call it. Errors:
/// INVALID_ARGUMENT, with what is wrong, and of a text that is no JSON where; those of CheckSeal.
absl::StatusOr<std::vector<quality::Measure>> ParseBaseline(absl::string_view text,
                                                            absl::string_view file);

}  // namespace isocenter::cli
