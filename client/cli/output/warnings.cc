#include "client/cli/output/warnings.h"

#include <cstdio>
#include <map>

#include "absl/strings/ascii.h"

namespace isocenter::cli {

std::string ShapeOf(const std::string& text) {
  std::string shape;
  for (const char c : text) {
    const bool of_number = absl::ascii_isdigit(c) || (c == '.' && shape.ends_with('#'));
    if (!of_number) {
      shape.push_back(c);
    } else if (!shape.ends_with('#')) {
      shape.push_back('#');
    }
  }
  return shape;
}

void PrintWarnings(std::span<const std::string> warnings) {
  constexpr int kShown = 2;
  std::map<std::string, int> alike;
  for (const std::string& warning : warnings) {
    if (++alike[ShapeOf(warning)] > kShown) continue;
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  }
  for (const std::string& warning : warnings) {
    int& all = alike[ShapeOf(warning)];
    if (all > kShown) {
      std::fprintf(stderr, "warning: %d more like: %s\n", all - kShown, warning.c_str());
    }
    all = 0;
  }
}

}  // namespace isocenter::cli
