// Text as PostgreSQL takes it.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace isocenter::cluster_index {

/// UTF-8 without NUL: each byte that is none of a legal character becomes U+FFFD. PostgreSQL
/// refuses what is not; SQLite keeps it, and no legal value matches it in either.
std::string Clean(absl::string_view text);

/// The literal of an array of text.
std::string ArrayOf(const std::vector<std::string>& items);

}  // namespace isocenter::cluster_index
