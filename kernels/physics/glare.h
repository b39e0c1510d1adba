// Light that spreads in the screen and in the housing.
#pragma once

#include <span>

#include "kernels/base/thread_pool.h"
#include "kernels/geometry/detector.h"

namespace isocenter::physics {

/// The point spread of glare: 1 - share stays; share goes to (du, dv) pixels away with the weight
/// g(du)·g(dv), g(k) = (1 - a)/(1 + a)·a^|k|, a = exp(-pitch / length), whose sum is 1. Light that
/// falls beside the detector is lost. Two exponentials have a long tail and cost little, as a
/// device's measured spread would not; a correction has to be fitted to it like to any other.
void AddGlare(double share, double length_mm, const Detector& detector, ThreadPool& pool,
              std::span<double> pixels);

}  // namespace isocenter::physics
