// Where a cylinder of water stands in a scan of it, and how long each ray's way in it is.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/ops/calibration.h"

namespace isocenter::calibrate {

inline constexpr double kLeastDiameterMm = 30, kMostDiameterMm = 500;
/// How far the diameter that a scan shows may be from the given one: twice the measurement's own
/// error, which is 0.1 % at 20000 photons a pixel and 0.2 % at 2000 (60 to 200 mm, 0.8 mm pixels).
inline constexpr double kMostDiameterErrorPercent = 0.4;
/// Half the height around the isocenter's plane that is looked at (mm, at the axis): there the
/// cylinder must be, with some more for the rays' slope.
inline constexpr double kHalfSlabMm = 10;
/// Views that a scan has at least: they see the axis from different sides.
inline constexpr int kLeastScanViews = 20;
/// Views of a scan that are enough.
inline constexpr int kUsedScanViews = 90;

struct MeasuredRay {
  Vec3 source, direction;  // direction: unit vector
  double transmission = 1;
  int view = 0;
  int column = 0;  // of the detector
};

/// Rays of a frame's pixels that cross the axis within kHalfSlabMm, from a few rows. `frame` as
/// Transmission makes it; `matrix` is normalised. Appends to `rays`. Errors: FAILED_PRECONDITION
/// (the isocenter's plane is not on the detector).
absl::Status AddRays(std::span<const float> frame, const ProjectionMatrix& matrix,
                     const Detector& detector, int view, std::vector<MeasuredRay>& rays);

/// An endless cylinder about the line (x + tilt_x·z, y + tilt_y·z, z).
struct Cylinder {
  double diameter_mm = 0;
  double x_mm = 0, y_mm = 0, tilt_x = 0, tilt_y = 0;
  /// The diameter that the scan shows, beside the given one, and its standard deviation by noise;
  /// 0: FitCylinder did not make this.
  double seen_mm = 0, seen_sigma_mm = 0;

  /// Of the ray from the axis (mm); not a number where both are parallel.
  double DistanceMm(const MeasuredRay& ray) const;
  /// The ray's way in it (mm).
  double ChordMm(const MeasuredRay& ray) const;
};

/// The position that makes the chords a polynomial of the line integrals best
/// (Levenberg-Marquardt, with the polynomial's coefficients eliminated by linear least squares). It
/// is looked for from where the middles of the shadows meet. The diameter that the scan shows only
/// judges the given one. Errors: INVALID_ARGUMENT (diameter), FAILED_PRECONDITION (none is found,
/// or another diameter; it leaves no air beside it in a view).
absl::StatusOr<Cylinder> FitCylinder(const std::vector<MeasuredRay>& rays, double diameter_mm,
                                     double most_error_percent = kMostDiameterErrorPercent);

}  // namespace isocenter::calibrate
