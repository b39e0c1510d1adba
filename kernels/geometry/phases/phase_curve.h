// Phases of frames: a heart that beats or a patient who breathes while the arm turns.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace isocenter {

struct PhaseCurve {
  double cycles = 0;     // in the scan, 0.5 to 1000
  double irregular = 0;  // standard deviation of a cycle's length over the mean, 0 to 0.3
  uint64_t seed = 1;     // of the lengths and of where in a cycle the scan begins
};

/// The phase of each of `frames` frames, in [0, 1), at equal steps of time: within a cycle it rises
/// evenly, as from one R wave to the next. Lengths of cycles are drawn from a normal distribution
/// that is cut at two deviations; the same on every machine. Errors: INVALID_ARGUMENT (the field,
/// its value, what is legal; fewer than 1 frame).
absl::StatusOr<std::vector<float>> PhasesOfFrames(const PhaseCurve& curve, int frames);

}  // namespace isocenter
