// Tables of text that people write: a name and some numbers on each line.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::calibrate {

struct TextRow {
  int line = 0;  // from 1
  std::string text, name;
  std::vector<double> numbers;  // finite
};

/// Rows of a name and so many numbers, separated by blanks or commas; '#' begins a comment. Errors:
/// BadRow.
absl::StatusOr<std::vector<TextRow>> ParseTextTable(absl::string_view text, size_t numbers,
                                                    absl::string_view legal);

/// INVALID_ARGUMENT with the line, its text and what is legal.
absl::Status BadRow(const TextRow& row, absl::string_view legal);

}  // namespace isocenter::calibrate
