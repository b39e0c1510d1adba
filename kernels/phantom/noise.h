// Detector counts with quantum and electronic noise.
#pragma once

#include <cstdint>
#include <span>

namespace isocenter::phantom {

struct NoiseModel {
  double photons = 0;            // per pixel and frame, unattenuated; 0: no quantum noise
  double electronic_counts = 0;  // standard deviation of additive noise, in counts
  uint64_t seed = 1;
};

/// counts = round(i0 / photons · Poisson(photons · exp(-p)) + N(0, electronic)), clamped to
/// 0..65535. The result depends on seed and view alone: the same on every machine and for any
/// number of threads.
void ToCounts(std::span<const float> line_integrals, double i0_counts, const NoiseModel& noise,
              int view, std::span<uint16_t> counts);

}  // namespace isocenter::phantom
