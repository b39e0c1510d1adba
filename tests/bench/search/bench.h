// `isocenter-bench search`: kernel B of Zinsser & Keck (2013) over all of its parameters, which the
// paper tuned by hand.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace isocenter::bench {

struct SearchOptions {
  int size = 512;
  int views = 128;
  int repeats = 3;
  int best = 10;           // rows that are printed
  std::string trajectory;  // as in FdkOptions
  std::string out;         // directory of the whole table; empty: none
};

/// Errors: UNAVAILABLE (no CUDA in this build or machine, a file that cannot be written), those of
/// the trajectory, RESOURCE_EXHAUSTED (device memory).
absl::Status RunSearch(const SearchOptions& options);

}  // namespace isocenter::bench
