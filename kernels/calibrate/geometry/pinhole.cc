#include "kernels/calibrate/geometry/pinhole.h"

#include <Eigen/Cholesky>
#include <cmath>

namespace isocenter::calibrate {
namespace {

Eigen::Vector3d ToEigen(Vec3 v) { return {v.x, v.y, v.z}; }

Eigen::Matrix3d Turn(const Eigen::Vector3d& axis_times_angle) {
  const double angle = axis_times_angle.norm();
  if (angle < 1e-300) return Eigen::Matrix3d::Identity();
  return Eigen::AngleAxisd(angle, axis_times_angle / angle).toRotationMatrix();
}

double RobustCost(const BeadTable& table, std::span<const BeadShadow> shadows, double scale,
                  const Pinhole& camera) {
  double cost = 0;
  for (const BeadShadow& shadow : shadows) {
    const Vec3 point = table[shadow.bead].center;
    if (!(camera.Depth(point) > 0)) return INFINITY;
    const double r2 = (camera.Project(point) - Eigen::Vector2d(shadow.u, shadow.v)).squaredNorm();
    cost += scale * scale * std::log1p(r2 / (scale * scale));
  }
  return cost;
}

}  // namespace

Eigen::Vector2d Pinhole::Project(Vec3 point) const {
  const Eigen::Vector3d x = rotation * ToEigen(point) + translation;
  return {focal * (x.x() + skew * x.y()) / x.z() + u0, aspect * focal * x.y() / x.z() + v0};
}

double Pinhole::Depth(Vec3 point) const {
  return rotation.row(2).dot(ToEigen(point)) + translation.z();
}

Vec3 Pinhole::Source() const {
  const Eigen::Vector3d source = -(rotation.transpose() * translation);
  return {source.x(), source.y(), source.z()};
}

absl::StatusOr<ProjectionMatrix> Pinhole::Matrix() const {
  Eigen::Matrix3d k;
  k << focal, focal * skew, u0, 0, aspect * focal, v0, 0, 0, 1;
  Eigen::Matrix<double, 3, 4> p;
  p << k * rotation, k * translation;
  ProjectionMatrix matrix;
  for (int i = 0; i < 12; ++i) matrix.m[i] = p(i / 4, i % 4);
  return NormalizeMatrix(matrix);
}

Pinhole Pinhole::Moved(const Eigen::Ref<const Eigen::VectorXd>& step) const {
  Pinhole moved = *this;
  moved.rotation = Turn(step.head<3>()) * rotation;
  moved.translation += step.segment<3>(3);
  if (step.size() >= kSquareParameters) {
    moved.focal += step[6];
    moved.u0 += step[7];
    moved.v0 += step[8];
  }
  if (step.size() == kCameraParameters) {
    moved.aspect += step[9];
    moved.skew += step[10];
  }
  return moved;
}

CameraJacobian Jacobian(const Pinhole& camera, Vec3 point) {
  const Eigen::Vector3d turned = camera.rotation * ToEigen(point);
  const Eigen::Vector3d x = turned + camera.translation;
  const double f = camera.focal, g = camera.aspect * f, z = x.z();
  const double across = x.x() + camera.skew * x.y();
  Eigen::Matrix<double, 2, 3> by_x;
  by_x << f / z, f * camera.skew / z, -f * across / (z * z), 0, g / z, -g * x.y() / (z * z);
  Eigen::Matrix3d by_turn;  // of ω × turned
  by_turn << 0, turned.z(), -turned.y(), -turned.z(), 0, turned.x(), turned.y(), -turned.x(), 0;
  CameraJacobian jacobian;
  jacobian.leftCols<3>() = by_x * by_turn;
  jacobian.middleCols<3>(3) = by_x;
  jacobian.middleCols<3>(6) << across / z, 1, 0, camera.aspect * x.y() / z, 0, 1;
  jacobian.rightCols<2>() << 0, f * x.y() / z, f * x.y() / z, 0;
  return jacobian;
}

void FitCamera(const BeadTable& table, std::span<const BeadShadow> shadows, int parameters,
               double scale_px, int iterations, Pinhole& camera) {
  if (2 * static_cast<int>(shadows.size()) < parameters) return;
  double damping = 1e-6, cost = RobustCost(table, shadows, scale_px, camera);
  for (int iteration = 0; iteration < iterations; ++iteration) {
    Eigen::Matrix<double, kCameraParameters, kCameraParameters> sum;
    Eigen::Matrix<double, kCameraParameters, 1> sum_right;
    sum.setZero();
    sum_right.setZero();
    for (const BeadShadow& shadow : shadows) {
      const Vec3 point = table[shadow.bead].center;
      const Eigen::Vector2d r = Eigen::Vector2d(shadow.u, shadow.v) - camera.Project(point);
      const double weight = RobustWeight(r.squaredNorm(), scale_px);
      const CameraJacobian jacobian = Jacobian(camera, point);
      sum.noalias() += weight * jacobian.transpose() * jacobian;
      sum_right.noalias() += weight * jacobian.transpose() * r;
    }
    const Eigen::MatrixXd normal = sum.topLeftCorner(parameters, parameters);
    const Eigen::VectorXd right = sum_right.head(parameters);
    bool better = false;
    double step_size = 0;
    for (int attempt = 0; attempt < 8 && !better; ++attempt) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal() *= 1 + damping;
      const Eigen::VectorXd step = damped.ldlt().solve(right);
      if (!step.allFinite()) return;
      const Pinhole moved = camera.Moved(step);
      const double moved_cost = RobustCost(table, shadows, scale_px, moved);
      better = moved_cost <= cost;
      damping = better ? std::max(1e-12, damping / 10) : damping * 10;
      if (!better) continue;
      step_size = cost - moved_cost;
      camera = moved;
      cost = moved_cost;
    }
    if (!better || step_size <= 1e-12 * cost) return;
  }
}

std::vector<double> Residuals(const BeadTable& table, std::span<const BeadShadow> shadows,
                              const Pinhole& camera) {
  std::vector<double> residuals;
  for (const BeadShadow& shadow : shadows) {
    residuals.push_back(
        (camera.Project(table[shadow.bead].center) - Eigen::Vector2d(shadow.u, shadow.v)).norm());
  }
  return residuals;
}

Eigen::Matrix<double, kCameraParameters, kCameraParameters> Information(
    const BeadTable& table, std::span<const BeadShadow> shadows, double scale_px,
    const Pinhole& camera) {
  Eigen::Matrix<double, kCameraParameters, kCameraParameters> sum;
  sum.setZero();
  for (const BeadShadow& shadow : shadows) {
    const Vec3 point = table[shadow.bead].center;
    const Eigen::Vector2d r = Eigen::Vector2d(shadow.u, shadow.v) - camera.Project(point);
    const CameraJacobian jacobian = Jacobian(camera, point);
    sum.noalias() += RobustWeight(r.squaredNorm(), scale_px) * jacobian.transpose() * jacobian;
  }
  return sum;
}

}  // namespace isocenter::calibrate
