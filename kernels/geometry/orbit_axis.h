// The axis that the source turns around, found from the matrices alone.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter {

/// Unit normal of the plane that fits the source positions best (least squares), on the side of +z.
/// A trajectory too short to span a plane (an arc below about 15 degrees) has the world's z.
/// Errors: INVALID_ARGUMENT naming the view.
absl::StatusOr<Vec3> OrbitAxis(const Trajectory& trajectory);

/// The same trajectory in a world that is turned about the isocentre so that `axis` becomes z. What
/// is computed from angles around z and in the plane z = 0 then holds for orbits of any tilt.
Trajectory TurnedToAxis(const Trajectory& trajectory, Vec3 axis);

/// Angle between the rows of the detector and the orbit's plane (radians, 0..π/2), the largest over
/// all views. Rows are filtered along the orbit; turned by more than this they would not be.
absl::StatusOr<double> LargestRowAngle(const Trajectory& trajectory, Vec3 axis);

}  // namespace isocenter
