// Simulated sweeps of bead phantoms, and how far fitted matrices are from the truth.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/calibrate/geometry/geometry_fit.h"
#include "kernels/geometry/phantom_tables/bead_table.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/phantom/noise.h"
#include "kernels/phantom/phantom.h"

namespace isocenter::calibrate {

inline constexpr Detector kBeadDetector{
    .columns = 620, .rows = 480, .pitch_u_mm = 0.616, .pitch_v_mm = 0.616};
inline constexpr double kWaterPerMm = 0.02;

/// A typical arm on 200 degrees.
Trajectory WobblingArm(int frames, uint64_t seed, const Detector& detector = kBeadDetector);

struct BeadSweep {
  const phantom::Phantom& object;
  const Trajectory& truth;
  Detector detector = kBeadDetector;
  phantom::NoiseModel noise{.photons = 20000, .electronic_counts = 8, .seed = 3};
  int subsamples = 1;
  /// Changes line integrals before they become counts.
  std::function<void(int frame, std::vector<float>& line_integrals)> disturb = {};
};

/// The whole calibration of a sweep.
absl::StatusOr<GeometryFit> Calibrated(const BeadSweep& sweep, const BeadTable& table,
                                       const GeometryChoice& choice = {});

struct GeometryError {
  double reprojection_px = 0;          // rms, of points of a ball of 80 mm around the origin
  double most_reprojection_px = 0;     // of any of them
  double source_mm = 0, axis_deg = 0;  // rms, of the source and of the worst detector axis
  double most_source_mm = 0, most_axis_deg = 0;
};
GeometryError ErrorOf(const Trajectory& fitted, const Trajectory& truth);

}  // namespace isocenter::calibrate
