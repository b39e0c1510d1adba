// Sequences of projection matrices: planned, measured or synthetic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/projection_matrix.h"

namespace isocenter {

/// One matrix per frame, in acquisition order, normalised (NormalizeMatrix).
using Trajectory = std::vector<ProjectionMatrix>;

inline constexpr int kMaxViews = 10000;

/// Source at source_to_isocenter · (cos a, sin a, 0); u along (-sin a, cos a, 0), v along -z.
struct CircularOrbit {
  int views = 0;
  double source_to_isocenter_mm = 0;
  double source_to_detector_mm = 0;
  double start_angle = 0;  // radians
  /// Signed angle from the first view to the last (radians). A closed circle of n views has arc
  /// 2π·(n-1)/n.
  double arc = 0;
  double offset_u_px = 0;  // principal point relative to the detector's centre
  double offset_v_px = 0;
};

/// Errors: INVALID_ARGUMENT naming the field: views 1 to kMaxViews, source to isocentre 10 to
/// 10000 mm, source to detector above that and up to 20000 mm, arc up to 4π, offsets up to 10^5
/// pixels, detector 1 to 8192 pixels of up to 10 mm.
absl::StatusOr<Trajectory> MakeCircularOrbit(const CircularOrbit& orbit, const Detector& detector);

/// A C-arm that sags and wobbles as real ones do: smooth, reproducible deviations of source,
/// detector tilt and principal point around `orbit`, of the size found in measured trajectories.
/// `amplitude` 1 is a typical arm, 0 the ideal orbit; legal is 0 to 10. The same seed gives the
/// same trajectory on every machine, and the same arm for any number of views. Errors: as
/// MakeCircularOrbit, and INVALID_ARGUMENT for an amplitude that the orbit is too small for.
absl::StatusOr<Trajectory> MakeWobblingOrbit(const CircularOrbit& orbit, const Detector& detector,
                                             double amplitude, uint64_t seed);

/// Reads the table format of docs/formats/trajectory.md: comma-separated, '#' comments, the last 12
/// columns of a line are a row-major matrix. The matrices come back normalised. Errors: NOT_FOUND
/// (no such file, not readable), INVALID_ARGUMENT with the line number.
absl::StatusOr<Trajectory> ReadTrajectoryCsv(const std::string& path);

/// The matrices of the same detector read out with `binning` x `binning` pixels summed, binning >=
/// 1: u' = (u - (binning - 1)/2) / binning, v' likewise.
Trajectory Binned(const Trajectory& trajectory, int binning);

/// Angle of every source around z (radians), unwrapped so that neighbours differ by less than π.
/// Errors: INVALID_ARGUMENT (a source on the axis, a singular matrix; the view is named).
absl::StatusOr<std::vector<double>> SourceAngles(const Trajectory& trajectory);

}  // namespace isocenter
