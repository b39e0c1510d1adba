// How good a measurement was, in numbers.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace isocenter::calibrate {

/// For example "noise left in the air map", 0.08, "%".
struct Figure {
  std::string name;  // up to 64 characters
  double value = 0;
  std::string unit;  // up to 16 characters
  /// What it is judged by, in its unit: "at most 0.2". Beyond, the measurement is refused. Empty:
  /// it is told, and not judged.
  std::string limit = {};
};
using Figures = std::vector<Figure>;

/// Limits of figures.
inline std::string AtMost(double most) { return absl::StrCat("at most ", most); }
inline std::string AtLeast(double least) { return absl::StrCat("at least ", least); }
inline std::string Within(double most) { return absl::StrCat("within ±", most); }

/// FAILED_PRECONDITION with the figure and its bound: the measurement is not good enough. `advice`
/// says what would make it better.
inline absl::Status NotGoodEnough(const Figure& figure, absl::string_view bound,
                                  absl::string_view advice) {
  return absl::FailedPreconditionError(absl::StrCat(figure.name, " is ", figure.value,
                                                    figure.unit.empty() ? "" : " ", figure.unit,
                                                    "; legal is ", bound, ": ", advice));
}

}  // namespace isocenter::calibrate
