// What bounds back-projection on a CUDA device: the analysis of Zinsser & Keck, "Systematic
// Performance Optimization of Cone-Beam Back-Projection on the Kepler Architecture" (Fully3D 2013),
// table II, by kernels of which parts are left out.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace isocenter::bench {

struct BottleneckOptions {
  int size = 512;
  int views = 128;
  int repeats = 5;
  std::string trajectory;  // as in FdkOptions
  std::string json;        // file to write; empty: none
};

/// Errors: UNAVAILABLE (no CUDA in this build or machine, a file that cannot be written), those of
/// the trajectory, RESOURCE_EXHAUSTED (device memory).
absl::Status RunBottleneck(const BottleneckOptions& options);

}  // namespace isocenter::bench
