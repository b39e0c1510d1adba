// The water polynomial of a beam, from scans of cylinders of water.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/calibrate/cylinder_fit.h"
#include "kernels/calibrate/figure.h"
#include "kernels/ops/calibration.h"

namespace isocenter::calibrate {

/// Water that water's attenuation is stated for (mm): a head. Of thinner cylinders the thickest.
inline constexpr double kReferenceMm = 200;
/// Root mean square distance of measured chords from the polynomial's (% of the longest).
inline constexpr double kMostWaterResidualPercent = 0.5;
/// Cupping that is left (HU).
inline constexpr double kMostCuppingLeftHu = 10;

struct CylinderScan {
  Cylinder cylinder;
  std::vector<MeasuredRay> rays;
};

/// The mean of rays of nearly the same chord.
struct WaterPoint {
  double water_mm = 0, line_integral = 0;
  double found_mm = 0;  // what the fit makes of the line integral
};

struct WaterFit {
  ops::WaterPolynomial polynomial;
  double mu_water_per_mm = 0;      // what the polynomial gives for a millimetre
  std::vector<WaterPoint> points;  // ascending
  Figures figures;
  std::vector<std::string> warnings;
};

/// Chords of a scan in a hundred classes, of which each has the mean transmission: its logarithm is
/// not biased by noise, as the mean of logarithms would be. Below a tenth of the diameter the
/// border is not sharp enough. Errors: FAILED_PRECONDITION (fewer than a quarter of them have
/// rays).
absl::StatusOr<std::vector<WaterPoint>> WaterPoints(const CylinderScan& scan);

/// Adds the figures of a fit and of the thickest cylinder to it. Of its cupping nothing is known
/// where no ray comes near its center: a profile through the others is a guess there. Errors:
/// FAILED_PRECONDITION with the figure and its bound.
absl::Status JudgeWater(double diameter_mm, double reference_mm, WaterFit& fit);

/// Four coefficients, so that chords times mu_water_per_mm follow from line integrals (weighted
/// least squares, iterated after Huber), continued to twice the longest one with the slope at its
/// end; fewer where four do not ascend to ops::kLongestLineIntegral. mu_water_per_mm is that for
/// which kReferenceMm of water keep their line integral: the effective energy behind so much water.
/// `tube_voltage_kv`: of the scans; 0: not known. Warns of thick water that attenuates less than
/// any beam of that tube could (JudgeThickWater). Errors: FAILED_PRECONDITION with the figure and
/// its bound; INVALID_ARGUMENT (ops::CheckWaterPolynomial).
absl::StatusOr<WaterFit> FitWater(const std::vector<CylinderScan>& scans,
                                  double tube_voltage_kv = 0);

}  // namespace isocenter::calibrate
