// What figures of image quality are called where people read them.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace isocenter::cli {

/// "mtf50_edge_per_mm": "MTF 50 % edge, 1/mm". The page says the same (web/src/lib/figures.ts).
std::string FigureName(absl::string_view key);

}  // namespace isocenter::cli
