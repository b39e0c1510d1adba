#include "kernels/calibrate/geometry/world_frame.h"

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <Eigen/LU>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"

namespace isocenter::calibrate {
namespace {

// Variances of the sources in their plane, second to first: 1e-3 is an arc of about 15 degrees.
constexpr double kLeastPlanarity = 1e-3;

Eigen::Vector3d ToEigen(Vec3 v) { return {v.x, v.y, v.z}; }

absl::StatusOr<Eigen::Vector3d> AxisOf(const std::vector<Eigen::Vector3d>& sources) {
  Eigen::Vector3d mean = Eigen::Vector3d::Zero();
  for (const auto& source : sources) mean += source;
  mean /= static_cast<double>(sources.size());
  Eigen::Matrix3d scatter = Eigen::Matrix3d::Zero();
  for (const auto& source : sources) scatter += (source - mean) * (source - mean).transpose();
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(scatter);  // ascending
  const double planarity = eigen.eigenvalues()[1] / eigen.eigenvalues()[2];
  if (!(planarity >= kLeastPlanarity)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the sources are nearly on a line (second to first variance %.2g); legal for the orbit's "
        "frame is %g or more, an arc of about 15 degrees",
        planarity, kLeastPlanarity));
  }
  const Eigen::Vector3d axis = eigen.eigenvectors().col(0);
  return axis.z() < 0 ? Eigen::Vector3d(-axis) : axis;
}

}  // namespace

absl::StatusOr<Trajectory> InOrbitFrame(const Trajectory& trajectory, const Detector& detector) {
  std::vector<Eigen::Vector3d> sources;
  Eigen::Matrix3d across = Eigen::Matrix3d::Zero();  // Σ of what projects across each ray
  Eigen::Vector3d across_sources = Eigen::Vector3d::Zero();
  for (const ProjectionMatrix& matrix : trajectory) {
    ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(matrix));
    sources.push_back(ToEigen(camera.source));
    const double u = (detector.columns - 1) / 2.0, v = (detector.rows - 1) / 2.0;
    const Eigen::Map<const Eigen::Matrix<double, 3, 4, Eigen::RowMajor>> p(matrix.m.data());
    const Eigen::Vector3d ray = (p.leftCols<3>().inverse() * Eigen::Vector3d(u, v, 1)).normalized();
    const Eigen::Matrix3d projector = Eigen::Matrix3d::Identity() - ray * ray.transpose();
    across += projector;
    across_sources += projector * sources.back();
  }
  ISO_ASSIGN_OR_RETURN(const Eigen::Vector3d axis, AxisOf(sources));
  const Eigen::Vector3d origin = across.ldlt().solve(across_sources);
  // Old coordinates are turn * new ones + origin.
  const Eigen::Matrix3d turn =
      Eigen::Quaterniond::FromTwoVectors(Eigen::Vector3d::UnitZ(), axis).toRotationMatrix();
  Trajectory turned;
  for (const ProjectionMatrix& matrix : trajectory) {
    const Eigen::Map<const Eigen::Matrix<double, 3, 4, Eigen::RowMajor>> p(matrix.m.data());
    ProjectionMatrix moved;
    Eigen::Map<Eigen::Matrix<double, 3, 4, Eigen::RowMajor>> q(moved.m.data());
    q.leftCols<3>() = p.leftCols<3>() * turn;
    q.col(3) = p.leftCols<3>() * origin + p.col(3);
    ISO_ASSIGN_OR_RETURN(moved, NormalizeMatrix(moved));
    turned.push_back(moved);
  }
  return turned;
}

}  // namespace isocenter::calibrate
