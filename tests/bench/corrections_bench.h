// The chain of corrections, step by step, by any backend: counts in host memory to line integrals
// in the device's.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace isocenter::bench {

struct CorrectionsOptions {
  std::string backend = "cuda";
  int views = 496;
  int batch = 6;  // frames at once; 6 as while they arrive
  int repeats = 5;
  int threads = 0;  // of the CPU; 0: one for each core
};

/// Errors: NOT_FOUND (no such backend), UNAVAILABLE (no such device), RESOURCE_EXHAUSTED.
absl::Status RunCorrections(const CorrectionsOptions& options);

}  // namespace isocenter::bench
