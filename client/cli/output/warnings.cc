#include "client/cli/output/warnings.h"

#include <cstdio>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/synchronization/mutex.h"

namespace isocenter::cli {
namespace {

/// What one part of a command has warned of, another may find as well: a header by what it says,
/// its frames by what they show.
bool IsNew(const std::string& warning) {
  static absl::Mutex mutex(absl::kConstInit);
  static auto& told = *new std::set<std::string>;
  absl::MutexLock lock(&mutex);
  return told.insert(warning).second;
}

}  // namespace

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
    if (!IsNew(warning)) continue;
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
