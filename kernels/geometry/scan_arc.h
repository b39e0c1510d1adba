// The sources' angles on their way around the axis.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter {

/// Positions of the sources along the arc, in the direction of rotation.
struct Arc {
  std::vector<double> beta;  // [view], radians from half a step before the first source
  std::vector<double> step;  // [view], share of the arc
  double length = 0;  // from half a step before the first source to half a step after the last
  double mean_step = 0;
  int direction = 1;  // of the rotation around z
};

/// `upright`: the axis is z. Errors: INVALID_ARGUMENT (fewer than 2 views, a rotation that is not
/// strictly monotonic; the view is named).
absl::StatusOr<Arc> MeasureArc(const Trajectory& upright);

/// Measured circles close to within half a step.
bool IsClosed(const Arc& arc);

/// A circle that closes, or more.
bool GoesAround(const Arc& arc);

/// Makes it a circle: the gap between the last and the first view counts as a step like any other.
void Close(Arc& arc);

}  // namespace isocenter
