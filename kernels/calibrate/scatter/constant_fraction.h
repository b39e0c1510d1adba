// Scatter as a constant fraction of the primary: for rooms where kernels cannot be measured.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/ops/calibration.h"

namespace isocenter::calibrate {

inline constexpr double kLeastScatterFraction = 0.01, kMostScatterFraction = 5;
inline constexpr double kLeastReachMm = 1, kMostReachMm = 1000;
/// Behind less water nothing scatters: air's noise and the thin rims of objects, whose primary is
/// many times that of what scatters.
inline constexpr double kLeastScatteringMm = 20;

/// Kernels with which ops::CorrectScatter takes scatter for this share of the primary behind the
/// object, averaged by a Gaussian of `reach_mm` on the detector, and for nothing behind air.
/// Errors: INVALID_ARGUMENT (a value with its range).
absl::StatusOr<ops::ScatterKernels> ConstantFraction(double fraction, double reach_mm,
                                                     double mu_water_per_mm);

}  // namespace isocenter::calibrate
