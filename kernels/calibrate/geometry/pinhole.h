// A camera as bundle adjustment knows it: a point and a flat detector of known pitches.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/phantom_tables/bead_table.h"
#include "kernels/geometry/projection_matrix.h"

namespace isocenter::calibrate {

/// Where the shadow of a ball of the table was found (pixels).
struct BeadShadow {
  int bead = 0;
  double u = 0, v = 0;
};

/// u = focal·(x + skew·y)/z + u0, v = aspect·focal·y/z + v0 of (x, y, z) = rotation·X +
/// translation. Where the detector is what its pitches say, `skew` is 0 and `aspect` is pitch_u /
/// pitch_v (negative for a detector that is read as in a mirror): nine parameters are left of a
/// matrix's eleven.
struct Pinhole {
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();
  Eigen::Vector3d translation = Eigen::Vector3d::Zero();  // mm
  double focal = 0, u0 = 0, v0 = 0;                       // column pitches, pixels
  double aspect = 1, skew = 0;

  Eigen::Vector2d Project(Vec3 point) const;
  double Depth(Vec3 point) const;
  Vec3 Source() const;
  /// Normalised where the world's origin is in front of the source. Errors: as NormalizeMatrix.
  absl::StatusOr<ProjectionMatrix> Matrix() const;
  /// Moved by `step`: a turn about the camera's axes (radians, 3), a shift along them (mm, 3), and,
  /// where it has nine, of focal, u0 and v0; where it has eleven, of aspect and skew.
  Pinhole Moved(const Eigen::Ref<const Eigen::VectorXd>& step) const;
};

inline constexpr int kPoseParameters = 6, kSquareParameters = 9, kCameraParameters = 11;
using CameraJacobian = Eigen::Matrix<double, 2, kCameraParameters>;

/// Derivatives of Project by the parameters of Moved, at step 0.
CameraJacobian Jacobian(const Pinhole& camera, Vec3 point);

/// Cauchy's weight of a residual whose scale is `scale`.
inline double RobustWeight(double residual2, double scale) {
  return 1 / (1 + residual2 / (scale * scale));
}

/// Moves `camera` to where the shadows' robust sum of squares is least (Levenberg-Marquardt;
/// Cauchy's loss with `scale_px`). `parameters`: kPoseParameters (focal, u0 and v0 stay),
/// kSquareParameters (aspect and skew stay) or kCameraParameters. Nothing happens with fewer
/// shadows than parameters need.
void FitCamera(const BeadTable& table, std::span<const BeadShadow> shadows, int parameters,
               double scale_px, int iterations, Pinhole& camera);

/// Distances (pixels) of shadows from where the camera has them.
std::vector<double> Residuals(const BeadTable& table, std::span<const BeadShadow> shadows,
                              const Pinhole& camera);

/// Σ of Jᵀ·J over the shadows, with RobustWeight.
Eigen::Matrix<double, kCameraParameters, kCameraParameters> Information(
    const BeadTable& table, std::span<const BeadShadow> shadows, double scale_px,
    const Pinhole& camera);

}  // namespace isocenter::calibrate
