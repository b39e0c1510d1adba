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

/// What is known of the weights before there is one for each ray.
struct RedundancyOutline {
  /// Radians, positive: from half a mean step before the first source to half a mean step after the
  /// last; exactly 2π for a circle that closes to within half a step.
  double arc = 0;
  /// Radians: twice the largest angle between a ray and the direction to the axis, over all views
  /// and both sides. Completeness hangs on the wider side of an asymmetric fan.
  double fan_angle = 0;
  bool full_scan = false;
  /// Columns that a displaced detector lacks, before its first and after its last, to reach as far
  /// on its narrow side as on the other; 0 for others.
  int columns_lacking_before = 0;
  int columns_lacking_after = 0;
};

/// A line's share of ∫dβ is the sum over the views that measure it of weight · angular_step.
struct RedundancyTable {
  RedundancyOutline outline;
  int views = 0;
  int columns = 0;
  /// [view][column], float64, dimensionless; the weights of conjugate rays add up to 1.
  std::vector<double> weight;
  /// [view], radians: half of the angle from the view before to the view after. They add up to
  /// the outline's arc.
  std::vector<double> angular_step;
};

/// Sources: Parker, Med. Phys. 9 (1982) 254; over-scan as in Silver, Med. Phys. 27 (2000) 773.
/// Angles come from the measured source positions, in either direction of rotation; rays' fan
/// angles from each view's own matrix on the row that images the isocentre. The first and the last
/// view keep a weight, because the arc reaches half a step beyond them. Arcs of more than one turn
/// are weighted so that each direction counts once.
///
/// A detector that is displaced beside the axis sees more of the object on a full turn
/// (displaced_detector.h); there the rays of its two sides count differently.
///
/// Errors: INVALID_ARGUMENT with the arc found and the arc needed, when the trajectory is too short
/// for the weighting, when short-scan weights are asked for more than a turn, when the angle is not
/// strictly monotonic, when the detector is displaced further than the scan can bear (on a full
/// turn 8 columns must reach beyond the axis, on a short scan a tenth of the columns may be
/// missing), when the sources leave the plane of the orbit by more than 3 % of their distance, or
/// with fewer than 2 views. Full scan needs 2π less one step. Short scan needs π plus 90 % of the
/// fan angle: what lies within the cylinder of radius source_to_isocenter · sin((arc - π) / 2) is
/// weighted exactly on any arc, and C-arms are built to stop where that is a little less than the
/// detector's field of view.
absl::StatusOr<RedundancyTable> ComputeRedundancy(const Trajectory& trajectory,
                                                  const Detector& detector,
                                                  RedundancyWeighting weighting);

/// [view][column]: the weights of a short scan of an object that moved. `seen` are the matrices as
/// the object at rest sees them (rigid_motion.h), of the same views: a line of the object counts
/// once where each ray is weighted by the source's angle and the ray's as the object saw them. With
/// `trajectory` itself they are those of ComputeRedundancy. An object may turn with the arm for a
/// moment, so that angles go back; what is beyond the first and the last view counts as these do.
/// Errors: INVALID_ARGUMENT (another number of views; those of OrbitAxis and SourceAngles).
absl::StatusOr<std::vector<double>> ShortScanWeightsSeen(const Trajectory& trajectory,
                                                         const Trajectory& seen, int columns);

/// ComputeRedundancy without the weights, which it takes as many steps for as there are views and
/// not rays. Errors: those of ComputeRedundancy.
absl::StatusOr<RedundancyOutline> OutlineRedundancy(const Trajectory& trajectory,
                                                    const Detector& detector,
                                                    RedundancyWeighting weighting);

/// Whether the sources go all around: what one side of a detector misses, the other sees from
/// opposite. False for a trajectory that ComputeRedundancy refuses.
bool CoversCircle(const Trajectory& trajectory);

}  // namespace isocenter
