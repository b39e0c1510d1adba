#include "client/cli/output/table.h"

#include <algorithm>

#include "absl/strings/numbers.h"

namespace isocenter::cli {
namespace {

bool IsNumberColumn(const std::vector<TableRow>& rows, size_t column) {
  double ignored;
  return rows.size() > 1 && std::all_of(rows.begin() + 1, rows.end(), [&](const TableRow& row) {
           return column < row.size() && absl::SimpleAtod(row[column], &ignored);
         });
}

}  // namespace

std::string FormatTable(const std::vector<TableRow>& rows) {
  std::vector<size_t> widths;
  for (const TableRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::vector<bool> right(widths.size());
  for (size_t c = 0; c < widths.size(); ++c) right[c] = IsNumberColumn(rows, c);
  std::string text;
  for (const TableRow& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - row[c].size(), ' ');
      if (c > 0) line += "  ";
      line += right[c] ? padding + row[c] : row[c] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace isocenter::cli
