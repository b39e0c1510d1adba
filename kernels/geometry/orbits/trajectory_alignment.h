// How the matrices of the same frames from two sources lie against each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter {

/// What matrices may differ in from others of the same frames before somebody is asked. Measured
/// ones are of the frame in which a phantom stood, and of an arm that sags.
inline constexpr double kMostTurnDeg = 20, kMostPathPercent = 0.5, kMostFocalPercent = 1.5;

/// Matrices against others of the same frames, as far as one turn, one shift and one scale of the
/// world, and one distance between source and detector, explain it; none of them is seen in the
/// frames.
struct TrajectoryAlignment {
  /// Most frames are of the other hand: what one of the worlds has on the left, the other has on
  /// the right.
  bool mirrored = false;
  /// The rotation vector of a turn of the world, from its own axes to the others' (radians, at most
  /// π); in a mirror, of the cameras' axes. Unset: the frames have no turn in common, as of arms
  /// that go different ways.
  std::optional<Vec3> turn_rad;
  /// Size of the paths of the sources, root mean square around their middle (mm).
  double own_path_mm = 0, path_mm = 0;
  /// The second over the first. Unset: its own source hardly moves.
  std::optional<double> scale;
  /// Distances of source and detector, in pixels of the detector (of its two sides the geometric
  /// mean), of all frames the middle one.
  double own_focal_px = 0, focal_px = 0;
};

/// `other` against `own`, frame by frame. Errors: INVALID_ARGUMENT (another number of frames, a
/// singular matrix).
absl::StatusOr<TrajectoryAlignment> Align(const Trajectory& own, const Trajectory& other);

/// What in an alignment is more than measuring explains, as ends of sentences that begin with the
/// other matrices: "mirror what NAME do not ...". `own` is for example "the sweep's own".
std::vector<std::string> Misalignments(const TrajectoryAlignment& alignment,
                                       const std::string& own);

/// The same of the distance between source and detector, where it is more than arms sag; nothing
/// where it is not.
std::optional<std::string> FocalMisfit(const TrajectoryAlignment& alignment,
                                       const std::string& own);

}  // namespace isocenter
