// Aligned text tables.
#pragma once

#include <string>
#include <vector>

namespace isocenter::cli {

using TableRow = std::vector<std::string>;

/// Columns as wide as their widest cell, two spaces apart; a number-like column is right-aligned.
/// The first row is the heading. Ends with a newline.
std::string FormatTable(const std::vector<TableRow>& rows);

}  // namespace isocenter::cli
