// An arm that moves away from where it was calibrated.
#pragma once

#include "kernels/geometry/trajectory.h"

namespace isocenter {

/// Source and detector of view k of n moved together by drift_mm · k / (n - 1), as an arm does that
/// warms up or sinks during a sweep; a single view stays. Errors: INVALID_ARGUMENT (a drift longer
/// than 100 mm, or one that takes the isocentre behind the source, with the view).
absl::StatusOr<Trajectory> Drifted(const Trajectory& trajectory, Vec3 drift_mm);

}  // namespace isocenter
