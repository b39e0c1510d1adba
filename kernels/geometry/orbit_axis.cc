#include "kernels/geometry/orbit_axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"

namespace isocenter {
namespace {

// Variances of the sources in the plane, second to first: an arc of a radians has about a²/60.
constexpr double kLeastPlanarity = 1e-3;

absl::StatusOr<std::vector<Camera>> Cameras(const Trajectory& trajectory) {
  std::vector<Camera> cameras;
  for (size_t view = 0; view < trajectory.size(); ++view) {
    absl::StatusOr<Camera> camera = Decompose(trajectory[view]);
    if (!camera.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("trajectory, view ", view, ": ", camera.status().message()));
    }
    cameras.push_back(*camera);
  }
  return cameras;
}

struct Eigen3 {
  std::array<double, 3> value;  // descending
  std::array<Vec3, 3> vector;
};

// Cyclic Jacobi rotations; a symmetric 3x3 matrix converges in a few sweeps.
Eigen3 SymmetricEigen(std::array<std::array<double, 3>, 3> a) {
  std::array<std::array<double, 3>, 3> v{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  for (int sweep = 0; sweep < 30; ++sweep) {
    for (auto [p, q] : {std::pair{0, 1}, std::pair{0, 2}, std::pair{1, 2}}) {
      if (a[p][q] == 0) continue;
      // The smaller of the two angles that make a[p][q] zero: then the sweeps converge.
      const double sign = a[q][q] < a[p][p] ? -1 : 1;
      const double theta = 0.5 * std::atan2(sign * 2 * a[p][q], sign * (a[q][q] - a[p][p]));
      const double c = std::cos(theta), s = std::sin(theta);
      for (int k = 0; k < 3; ++k) {
        const double kp = a[k][p], kq = a[k][q];
        a[k][p] = c * kp - s * kq;
        a[k][q] = s * kp + c * kq;
      }
      for (int k = 0; k < 3; ++k) {
        const double pk = a[p][k], qk = a[q][k];
        a[p][k] = c * pk - s * qk;
        a[q][k] = s * pk + c * qk;
        const double vp = v[k][p], vq = v[k][q];
        v[k][p] = c * vp - s * vq;
        v[k][q] = s * vp + c * vq;
      }
    }
  }
  std::array<int, 3> order{0, 1, 2};
  std::sort(order.begin(), order.end(), [&a](int i, int j) { return a[i][i] > a[j][j]; });
  Eigen3 result;
  for (int i = 0; i < 3; ++i) {
    const int k = order[i];
    result.value[i] = a[k][k];
    result.vector[i] = {v[0][k], v[1][k], v[2][k]};
  }
  return result;
}

}  // namespace

absl::StatusOr<Vec3> OrbitAxis(const Trajectory& trajectory) {
  absl::StatusOr<std::vector<Camera>> cameras = Cameras(trajectory);
  if (!cameras.ok()) return cameras.status();
  Vec3 mean;
  for (const Camera& camera : *cameras) mean = mean + camera.source;
  mean = (1.0 / std::max<size_t>(1, cameras->size())) * mean;
  std::array<std::array<double, 3>, 3> covariance{};
  for (const Camera& camera : *cameras) {
    const Vec3 d = camera.source - mean;
    const double c[] = {d.x, d.y, d.z};
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) covariance[i][j] += c[i] * c[j];
    }
  }
  const Eigen3 eigen = SymmetricEigen(covariance);
  if (!(eigen.value[1] > kLeastPlanarity * eigen.value[0])) return Vec3{0, 0, 1};
  const Vec3 axis = (1 / Norm(eigen.vector[2])) * eigen.vector[2];
  return axis.z < 0 ? -axis : axis;
}

Trajectory TurnedToAxis(const Trajectory& trajectory, Vec3 axis) {
  // Rows of the rotation that takes `axis` to z; the first stays as close to the old x as it can,
  // or y where x is the axis.
  const Vec3 start = std::abs(axis.x) < 0.9 ? Vec3{1, 0, 0} : Vec3{0, 1, 0};
  Vec3 x = start - Dot(start, axis) * axis;
  x = (1 / Norm(x)) * x;
  const Vec3 y = Cross(axis, x);
  Trajectory turned = trajectory;
  for (ProjectionMatrix& p : turned) {
    for (int row = 0; row < 3; ++row) {
      const Vec3 r{p(row, 0), p(row, 1), p(row, 2)};
      p.m[row * 4] = Dot(r, x);
      p.m[row * 4 + 1] = Dot(r, y);
      p.m[row * 4 + 2] = Dot(r, axis);
    }
  }
  return turned;
}

absl::StatusOr<double> LargestRowAngle(const Trajectory& trajectory, Vec3 axis) {
  absl::StatusOr<std::vector<Camera>> cameras = Cameras(trajectory);
  if (!cameras.ok()) return cameras.status();
  double largest = 0;
  for (const Camera& camera : *cameras) {
    largest = std::max(largest, std::asin(std::min(1.0, std::abs(Dot(camera.u_axis, axis)))));
  }
  return largest;
}

}  // namespace isocenter
