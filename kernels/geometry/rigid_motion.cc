#include "kernels/geometry/rigid_motion.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter {

Vec3 RigidTransform::Turn(Vec3 d) const {
  const auto& r = rotation;
  return {r[0] * d.x + r[1] * d.y + r[2] * d.z, r[3] * d.x + r[4] * d.y + r[5] * d.z,
          r[6] * d.x + r[7] * d.y + r[8] * d.z};
}

// R = 1 + a [t] + b [t]², a = sin|t| / |t|, b = (1 - cos|t|) / |t|² = (sin(|t|/2) / (|t|/2))² / 2.
RigidTransform TransformOf(const RigidPose& pose) {
  const Vec3 t = pose.turn_rad;
  const double angle = Norm(t);
  const auto over_angle = [](double x) { return x < 1e-8 ? 1 : std::sin(x) / x; };
  const double a = over_angle(angle);
  const double half = over_angle(angle / 2);
  const double b = half * half / 2;
  const double square = angle * angle;
  RigidTransform transform{.shift_mm = pose.shift_mm};
  transform.rotation = {
      1 + b * (t.x * t.x - square), b * t.x * t.y - a * t.z,      b * t.x * t.z + a * t.y,
      b * t.x * t.y + a * t.z,      1 + b * (t.y * t.y - square), b * t.y * t.z - a * t.x,
      b * t.x * t.z - a * t.y,      b * t.y * t.z + a * t.x,      1 + b * (t.z * t.z - square)};
  return transform;
}

// By the unit quaternion, whose largest element is found first: exact near 0 and near π.
RigidPose PoseOf(const RigidTransform& transform) {
  const auto& r = transform.rotation;
  const double trace = r[0] + r[4] + r[8];
  std::array<double, 4> q;  // w, x, y, z, times a factor
  if (trace >= std::max({r[0], r[4], r[8]})) {
    q = {1 + trace, r[7] - r[5], r[2] - r[6], r[3] - r[1]};
  } else if (r[0] >= std::max(r[4], r[8])) {
    q = {r[7] - r[5], 1 + r[0] - r[4] - r[8], r[1] + r[3], r[2] + r[6]};
  } else if (r[4] >= r[8]) {
    q = {r[2] - r[6], r[1] + r[3], 1 + r[4] - r[0] - r[8], r[5] + r[7]};
  } else {
    q = {r[3] - r[1], r[2] + r[6], r[5] + r[7], 1 + r[8] - r[0] - r[4]};
  }
  const double sign = q[0] < 0 ? -1 : 1;
  const Vec3 axis{sign * q[1], sign * q[2], sign * q[3]};
  const double sine = Norm(axis), cosine = sign * q[0];
  const double scale = sine < 1e-12 * cosine ? 2 / cosine : 2 * std::atan2(sine, cosine) / sine;
  return {scale * axis, transform.shift_mm};
}

RigidTransform Inverse(const RigidTransform& transform) {
  const auto& r = transform.rotation;
  RigidTransform inverse{.rotation = {r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8]}};
  inverse.shift_mm = -inverse.Turn(transform.shift_mm);
  return inverse;
}

RigidTransform Then(const RigidTransform& first, const RigidTransform& then) {
  RigidTransform both{.shift_mm = then(first.shift_mm)};
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      double sum = 0;
      for (int k = 0; k < 3; ++k) {
        sum += then.rotation[3 * row + k] * first.rotation[3 * k + column];
      }
      both.rotation[3 * row + column] = sum;
    }
  }
  return both;
}

ProjectionMatrix Times(const ProjectionMatrix& matrix, const RigidTransform& transform) {
  const auto& r = transform.rotation;
  ProjectionMatrix seen;
  for (int row = 0; row < 3; ++row) {
    const Vec3 left{matrix(row, 0), matrix(row, 1), matrix(row, 2)};
    for (int column = 0; column < 3; ++column) {
      seen.m[4 * row + column] = Dot(left, {r[column], r[3 + column], r[6 + column]});
    }
    seen.m[4 * row + 3] = Dot(left, transform.shift_mm) + matrix(row, 3);
  }
  return seen;
}

absl::StatusOr<ProjectionMatrix> SeenAtRest(const ProjectionMatrix& matrix, const RigidPose& pose) {
  return NormalizeMatrix(Times(matrix, TransformOf(pose)));
}

absl::StatusOr<Trajectory> SeenAtRest(const Trajectory& trajectory,
                                      std::span<const RigidPose> poses) {
  if (poses.size() != trajectory.size()) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", poses.size(), " poses for ",
                                                   trajectory.size(),
                                                   " views; legal is one for each"));
  }
  Trajectory seen;
  seen.reserve(trajectory.size());
  for (size_t view = 0; view < trajectory.size(); ++view) {
    absl::StatusOr<ProjectionMatrix> matrix = SeenAtRest(trajectory[view], poses[view]);
    if (!matrix.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("pose of view ", view, ": ", matrix.status().message()));
    }
    seen.push_back(*matrix);
  }
  return seen;
}

MotionExtent ExtentOf(std::span<const RigidPose> poses) {
  MotionExtent extent;
  for (const RigidPose& pose : poses) {
    extent.shift_mm = std::max(extent.shift_mm, Norm(pose.shift_mm));
    extent.turn_rad = std::max(extent.turn_rad, Norm(pose.turn_rad));
  }
  return extent;
}

}  // namespace isocenter
