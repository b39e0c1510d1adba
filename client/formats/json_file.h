// JSON files that people copy, edit and cut: read whole, with the place of what is wrong in them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::formats {

/// The object that `text` is. `file` is how errors call it. INVALID_ARGUMENT: it is empty, no JSON
/// ("FILE:LINE:COLUMN: ", what stands there and what is legal), JSON and no object, or one of its
/// objects has two members of one name.
absl::StatusOr<nlohmann::json> ParseJsonObject(absl::string_view text, absl::string_view file);

/// The same of a file of at most `limit_bytes`. Errors: also those of ReadText.
absl::StatusOr<nlohmann::json> ReadJsonObject(const std::filesystem::path& path,
                                              uint64_t limit_bytes);

}  // namespace isocenter::formats
