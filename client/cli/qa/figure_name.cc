#include "client/cli/qa/figure_name.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace isocenter::cli {
namespace {

bool IsNumber(absl::string_view text) {
  return !text.empty() && std::ranges::all_of(text, absl::ascii_isdigit);
}

/// "mtf50": "MTF 50 %"; "10mm": "10 mm".
std::string Word(absl::string_view word) {
  absl::string_view rest = word;
  if (absl::ConsumePrefix(&rest, "mtf") && IsNumber(rest)) return absl::StrCat("MTF ", rest, " %");
  rest = word;
  if (absl::ConsumeSuffix(&rest, "mm") && IsNumber(rest)) return absl::StrCat(rest, " mm");
  for (const char* abbreviation : {"mtf", "nps", "cnr", "fwhm"}) {
    if (word == abbreviation) return absl::AsciiStrToUpper(word);
  }
  return std::string(word);
}

}  // namespace

std::string FigureName(absl::string_view key) {
  std::string unit;
  for (const auto& [ending, its_unit] :
       {std::pair("_per_mm", ", 1/mm"), std::pair("_hu", ", HU"), std::pair("_mm", ", mm")}) {
    if (!absl::ConsumeSuffix(&key, ending)) continue;
    unit = its_unit;
    break;
  }
  std::vector<std::string> words;
  for (const absl::string_view word : absl::StrSplit(key, '_')) words.push_back(Word(word));
  return absl::StrCat(absl::StrJoin(words, " "), unit);
}

}  // namespace isocenter::cli
