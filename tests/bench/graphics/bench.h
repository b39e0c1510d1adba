// `isocenter-bench graphics`: what fragments of a graphics device reach of its compute shaders.
#pragma once

#include "absl/status/status.h"

namespace isocenter::bench {

struct GraphicsOptions {
  int size = 1024;    // fragments per axis
  int steps = 20000;  // multiplications with an addition, and samples / 16, of each
  int repeats = 5;
};

/// The same arithmetic, and the same texture samples, by fragments and by a compute shader. Errors:
/// UNAVAILABLE (no graphics in this build or on this machine).
absl::Status RunGraphics(const GraphicsOptions& options);

}  // namespace isocenter::bench
