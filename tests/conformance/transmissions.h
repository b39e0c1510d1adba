// Frames as corrections see them, and how far their results may be from the reference backend's.
#pragma once

#include "kernels/ops/calibration.h"
#include "tests/conformance/conformance.h"

namespace isocenter::conformance {

/// What arrives behind an object in an empty beam of dose 1: discs of different depth, whose
/// centres lie elsewhere in each view, down to `darkest`; noise of 2 %.
Array Transmissions(Shape3 shape, double darkest, uint32_t seed);

/// The largest difference of line integrals -log(x). Everything has to be above 0.
double LargestLineDifference(const Array& got, const Array& expected);

/// 0.02 HU are 2e-5 of water's attenuation; on a path of 200 mm with 0.02/mm that is a line
/// integral of 8e-5, were it wrong by as much on every ray and in one direction. What float32 does
/// is well below: pixels and blocks are held to 6e-8, a block's sum over all others and its steps
/// to some 1e-6, and where spread photons are several times the others, as in the frames of these
/// tests, as many times that. Half is allowed.
inline constexpr double kLineTolerance = 4e-5;

/// Pixels that are not square.
Detector DetectorOf(Shape3 frames);

}  // namespace isocenter::conformance
