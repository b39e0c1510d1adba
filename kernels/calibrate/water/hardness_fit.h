// How much harder than the softest column's each column's beam is, from scans of cylinders of
// water.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/calibrate/figure.h"
#include "kernels/calibrate/water/water_fit.h"
#include "kernels/ops/calibration.h"

namespace isocenter::calibrate {

/// A part of the detector must see chords as different as this share of the thickest cylinder: of
/// those alike nothing tells a harder beam from another polynomial.
inline constexpr double kLeastChordSpan = 0.25;
/// Columns that see water at all, of the detector's.
inline constexpr double kLeastSeenShare = 0.2;

/// How far the diameter may be off that a scan shows before it is known how hard columns are (%).
inline constexpr double kMostDiameterErrorByColumnPercent = 5;

/// Chords are C(p + h) - C(h), with p the line integral in a column of hardness h: the water in
/// front of it that would have hardened its beam. h is smooth between nodes over the detector's
/// columns, where columns saw no water as at the nearest that did; the smallest is 0. Solved by
/// Levenberg-Marquardt over the nodes, with C's coefficients eliminated by linear least squares.
/// So is how far cylinders stand from where they were found. Their diameters are judged by what
/// rays would be without the hardness. The polynomial, its continuation and water's attenuation are
/// those of FitWater, of the middle column. `scans`: with cylinders within
/// kMostDiameterErrorByColumnPercent. Errors: those of FitWater; of FitCylinder;
/// FAILED_PRECONDITION (kLeastChordSpan, with the columns, kLeastSeenShare); INVALID_ARGUMENT
/// (ops::CheckHardness).
absl::StatusOr<WaterFit> FitWaterByColumn(const std::vector<CylinderScan>& scans,
                                          const Detector& detector);

}  // namespace isocenter::calibrate
