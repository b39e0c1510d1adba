// An object that moves as a whole while an arm turns around it.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/geometry/vec3.h"

namespace isocenter {

/// How an object lies against its place at rest: what is at x at rest is at R(turn)·x + shift, in
/// the world. `turn` is a rotation vector about the isocentre: its direction is the axis, its
/// length the angle.
struct RigidPose {
  Vec3 turn_rad;
  Vec3 shift_mm;

  friend bool operator==(const RigidPose&, const RigidPose&) = default;
};

/// The same as a matrix.
struct RigidTransform {
  std::array<double, 9> rotation{1, 0, 0, 0, 1, 0, 0, 0, 1};  // row-major
  Vec3 shift_mm;

  Vec3 Turn(Vec3 direction) const;
  Vec3 operator()(Vec3 point) const { return Turn(point) + shift_mm; }
};

/// Rodrigues' formula; exact for every angle.
RigidTransform TransformOf(const RigidPose& pose);
/// The pose with the shortest rotation vector (at most π).
RigidPose PoseOf(const RigidTransform& transform);
RigidTransform Inverse(const RigidTransform& transform);
/// First `first`, then `then`.
RigidTransform Then(const RigidTransform& first, const RigidTransform& then);

/// P · T, of the same scale.
ProjectionMatrix Times(const ProjectionMatrix& matrix, const RigidTransform& transform);

/// What a view of the object in a pose is of the object at rest: P · T, normalised. Errors: those
/// of NormalizeMatrix (the place of the isocentre's point would be behind the source).
absl::StatusOr<ProjectionMatrix> SeenAtRest(const ProjectionMatrix& matrix, const RigidPose& pose);

/// The same of all frames, one pose for each. Errors: INVALID_ARGUMENT (another number of poses;
/// those of SeenAtRest, with the view).
absl::StatusOr<Trajectory> SeenAtRest(const Trajectory& trajectory,
                                      std::span<const RigidPose> poses);

/// The greatest lengths of shift (mm) and turn (radians) of any pose.
struct MotionExtent {
  double shift_mm = 0, turn_rad = 0;
};
MotionExtent ExtentOf(std::span<const RigidPose> poses);

}  // namespace isocenter
