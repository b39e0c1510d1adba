#include "client/cli/output/warnings.h"

#include <cstdio>

namespace isocenter::cli {

void PrintWarnings(std::span<const std::string> warnings) {
  for (const std::string& warning : warnings) {
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  }
}

}  // namespace isocenter::cli
