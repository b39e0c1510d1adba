// Vector arithmetic and priors: bytes that a device moves per second.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace isocenter::bench {

struct ArithmeticOptions {
  std::string backend = "cuda";
  int size = 512;  // voxels per axis
  int repeats = 10;
};

/// Errors: those of the backend.
absl::Status RunArithmetic(const ArithmeticOptions& options);

}  // namespace isocenter::bench
