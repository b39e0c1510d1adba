// Redundancy weights: every line is measured once or twice on an arc, and must count once.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter {

enum class RedundancyWeighting {
  kAuto,       // full scan where the arc covers 2π, short scan otherwise
  kShortScan,  // Parker, generalised to measured arcs and over-scan
  kFullScan,   // one half everywhere
};

/// Weights that include the angular step of each view, so that the sum over all views of a line's
/// weights is its share of ∫dβ. [view][u], float64, dimensionless.
struct RedundancyTable {
  int views = 0;
  int columns = 0;
  std::vector<double>
      weight;  // [view][column]; conjugate rays add up to 1, before the angular step
  std::vector<double> angular_step;  // [view], radians: trapezoidal share of the arc of that view
  double arc = 0;  // radians, from the first source to the last, plus half a step at both ends for
                   // closed circles
  double fan_angle = 0;  // radians, full, largest over the views
  bool full_scan = false;
};

/// Sources: Parker, Med. Phys. 9 (1982) 254; over-scan as in Silver, Med. Phys. 27 (2000) 773.
/// Angles come from the measured source positions; rays' fan angles from each view's own matrix.
/// The first and the last view keep a weight: the arc is taken to reach half an angular step beyond
/// them. Errors: INVALID_ARGUMENT with the arc found and the arc needed, when the trajectory is too
/// short for the weighting (short scan: π plus the fan angle; full scan: 2π less one step), is not
/// monotonic in angle, or has fewer than 2 views.
absl::StatusOr<RedundancyTable> ComputeRedundancy(const Trajectory& trajectory,
                                                  const Detector& detector,
                                                  RedundancyWeighting weighting);

}  // namespace isocenter
