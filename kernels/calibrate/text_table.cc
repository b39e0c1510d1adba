#include "kernels/calibrate/text_table.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace isocenter::calibrate {

absl::StatusOr<std::vector<TextRow>> ParseTextTable(absl::string_view text, size_t numbers,
                                                    absl::string_view legal) {
  std::vector<TextRow> rows;
  int line_number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    line = line.substr(0, line.find('#'));
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r,"), absl::SkipEmpty());
    if (words.empty()) continue;
    TextRow row{.line = line_number, .text = std::string(line), .name = std::string(words[0])};
    for (size_t i = 1; i < words.size(); ++i) {
      double number = 0;
      if (!absl::SimpleAtod(words[i], &number) || !std::isfinite(number)) return BadRow(row, legal);
      row.numbers.push_back(number);
    }
    if (row.numbers.size() != numbers) return BadRow(row, legal);
    rows.push_back(std::move(row));
  }
  return rows;
}

absl::Status BadRow(const TextRow& row, absl::string_view legal) {
  return absl::InvalidArgumentError(
      absl::StrFormat("line %d is '%s'; legal is %s", row.line, row.text.substr(0, 80), legal));
}

}  // namespace isocenter::calibrate
