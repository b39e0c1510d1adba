#include "server/dicomweb/window.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace isocenter::dicomweb {
namespace {

constexpr double kMost = 1e6;  // more than any value of 16 bits with its slope

}  // namespace

absl::StatusOr<Window> ParseWindow(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  Window window;
  bool is_legal = parts.size() == 3 && absl::SimpleAtod(parts[0], &window.center) &&
                  absl::SimpleAtod(parts[1], &window.width);
  if (is_legal && parts[2] == "linear-exact") {
    window.function = WindowFunction::kLinearExact;
  } else if (is_legal && parts[2] == "sigmoid") {
    window.function = WindowFunction::kSigmoid;
  } else {
    is_legal = is_legal && parts[2] == "linear";
  }
  const double least = window.function == WindowFunction::kLinear ? 1 : 1e-6;
  is_legal = is_legal && std::abs(window.center) <= kMost && window.width >= least &&
             window.width <= kMost;
  if (is_legal) return window;
  return absl::InvalidArgumentError(absl::StrCat(
      "window is '", text.substr(0, 80), "'; legal are CENTER,WIDTH,FUNCTION with a center of -",
      kMost, " to ", kMost, ", a width of 1 to ", kMost,
      " and one of linear, linear-exact and sigmoid, for the last two of which the width is above "
      "0"));
}

uint8_t ShadeOf(const Window& window, double value) {
  double shade = 0;  // 0 to 1
  switch (window.function) {
    case WindowFunction::kLinear:
      // A width of one has a step in it.
      shade = window.width == 1 ? (value > window.center - 0.5 ? 1 : 0)
                                : (value - (window.center - 0.5)) / (window.width - 1) + 0.5;
      break;
    case WindowFunction::kLinearExact:
      shade = (value - window.center) / window.width + 0.5;
      break;
    case WindowFunction::kSigmoid:
      shade = 1 / (1 + std::exp(-4 * (value - window.center) / window.width));
      break;
  }
  return static_cast<uint8_t>(std::lround(std::clamp(shade, 0.0, 1.0) * 255));
}

}  // namespace isocenter::dicomweb
