// A checksum in a JSON document that tells whether it was edited after it was written.
#pragma once

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace isocenter::cli {

/// Adds "checksum", of all else in the document: "crc32c 1f2e3d4c". It tells slips and edits, not
/// forgers: who wants to can make another.
void Seal(nlohmann::ordered_json& document);

/// INVALID_ARGUMENT, with both checksums, for a document that was edited; white space and the order
/// of members do not count. OK for one that has none. `file` is how errors call it.
absl::Status CheckSeal(const nlohmann::json& document, absl::string_view file);

}  // namespace isocenter::cli
