#include "kernels/calibrate/geometry/arm_fit.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/base/units.h"

namespace isocenter::calibrate {
namespace {

constexpr int kFrameIterations = 20, kArmIterations = 8;
constexpr double kDegreesPerInterval = 20;
constexpr int kLeastIntervals = 2, kLeastFramesPerInterval = 5;
constexpr double kConverged = 1e-10;  // relative change of the cost
constexpr int kMostIntrinsics = kCameraParameters - kPoseParameters;

using Matrix6 = Eigen::Matrix<double, 6, 6>;
// Of the intrinsic parameters that are fitted: three or five.
using Intrinsics = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMostIntrinsics, 1>;
using IntrinsicsMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, kMostIntrinsics, kMostIntrinsics>;
using Vector6 = Eigen::Matrix<double, 6, 1>;
using MixedMatrix = Eigen::Matrix<double, 6, Eigen::Dynamic, 0, 6, kMostIntrinsics>;

// Four neighbouring coefficients and their weights.
struct Basis {
  int first = 0;
  std::array<double, 4> weight{};
};

Basis BasisOf(int64_t frame, int64_t frames, int intervals) {
  const double at =
      frames < 2 ? 0 : static_cast<double>(frame) / static_cast<double>(frames - 1) * intervals;
  const int interval = std::min(intervals - 1, static_cast<int>(at));
  const double t = at - interval, s = 1 - t;
  return {interval,
          {s * s * s / 6, (3 * t * t * t - 6 * t * t + 4) / 6,
           (-3 * t * t * t + 3 * t * t + 3 * t + 1) / 6, t * t * t / 6}};
}

// What a frame says: [pose pose, pose intrinsics; intrinsics pose, intrinsics intrinsics].
struct Normal {
  Matrix6 pose;
  MixedMatrix mixed;
  IntrinsicsMatrix intrinsics;
  Vector6 pose_right;
  Intrinsics intrinsics_right;
  Eigen::LDLT<Matrix6> factor;
  double cost = 0;
};

Normal NormalOf(const BeadTable& table, int intrinsics, double scale, const FrameShadows& frame) {
  CameraCovariance sum;
  Eigen::Matrix<double, kCameraParameters, 1> right;
  sum.setZero();
  right.setZero();
  Normal normal;
  for (const BeadShadow& shadow : frame.shadows) {
    const Vec3 point = table[shadow.bead].center;
    const Eigen::Vector2d r = Eigen::Vector2d(shadow.u, shadow.v) - frame.camera.Project(point);
    const double weight = RobustWeight(r.squaredNorm(), scale);
    const CameraJacobian jacobian = Jacobian(frame.camera, point);
    sum.noalias() += weight * jacobian.transpose() * jacobian;
    right.noalias() += weight * jacobian.transpose() * r;
    normal.cost += scale * scale * std::log1p(r.squaredNorm() / (scale * scale));
  }
  normal.pose = sum.topLeftCorner<6, 6>();
  normal.mixed = sum.block(0, kPoseParameters, kPoseParameters, intrinsics);
  normal.intrinsics = sum.block(kPoseParameters, kPoseParameters, intrinsics, intrinsics);
  normal.pose_right = right.head<6>();
  normal.intrinsics_right = right.segment(kPoseParameters, intrinsics);
  normal.factor.compute(normal.pose);
  return normal;
}

class ArmFit {
 public:
  ArmFit(const BeadTable& table, int parameters, double scale, int intervals, ThreadPool& pool,
         std::vector<FrameShadows>& frames)
      : table_(table),
        scale_(scale),
        pool_(pool),
        frames_(frames),
        intrinsics_(parameters - kPoseParameters),
        unknowns_(intrinsics_ * (intervals + 3)) {
    for (size_t k = 0; k < frames.size(); ++k) {
      basis_.push_back(
          BasisOf(static_cast<int64_t>(k), static_cast<int64_t>(frames.size()), intervals));
    }
  }

  absl::StatusOr<std::vector<CameraCovariance>> Run() {
    if (!Smooth()) return Undetermined();
    double cost = Linearise();
    for (int iteration = 0; iteration < kArmIterations; ++iteration) {
      if (!Reduce()) return Undetermined();
      const std::vector<FrameShadows> before = frames_;
      Step(factor_.solve(right_));
      const double next = Linearise();
      if (next > cost) {
        frames_ = before;
        Linearise();
        break;
      }
      const bool converged = cost - next <= kConverged * cost;
      cost = next;
      if (converged) break;
    }
    if (!Reduce()) return Undetermined();
    return Covariances();
  }

 private:
  static absl::Status Undetermined() {
    return absl::FailedPreconditionError(
        "focal length and principal point do not follow from these frames as smooth functions; "
        "legal is a sweep in which most frames show 12 balls or more");
  }

  double Linearise() {
    normals_.resize(frames_.size());
    pool_.ParallelFor(static_cast<int64_t>(frames_.size()), [&](int64_t k, int) {
      normals_[k] = NormalOf(table_, intrinsics_, scale_, frames_[k]);
    });
    double cost = 0;
    for (const Normal& normal : normals_) cost += normal.cost;
    return cost;
  }

  // The splines nearest to the frames' own values, by how well each frame knows them; then the
  // poses that go with them.
  bool Smooth() {
    Linearise();
    Eigen::MatrixXd left = Eigen::MatrixXd::Zero(unknowns_, unknowns_);
    Eigen::VectorXd right = Eigen::VectorXd::Zero(unknowns_);
    for (size_t k = 0; k < frames_.size(); ++k) {
      const IntrinsicsMatrix schur = Schur(normals_[k]);
      AddWeighted(basis_[k], schur, schur * IntrinsicsOf(frames_[k].camera), left, right);
    }
    const Eigen::LDLT<Eigen::MatrixXd> factor(left);
    const Eigen::VectorXd coefficients = factor.solve(right);
    if (factor.info() != Eigen::Success || !coefficients.allFinite()) return false;
    pool_.ParallelFor(static_cast<int64_t>(frames_.size()), [&](int64_t k, int) {
      Pinhole& camera = frames_[k].camera;
      Eigen::VectorXd step = Eigen::VectorXd::Zero(kPoseParameters + intrinsics_);
      step.tail(intrinsics_) = At(basis_[k], coefficients) - IntrinsicsOf(camera);
      camera = camera.Moved(step);
      FitCamera(table_, frames_[k].shadows, kPoseParameters, scale_, kFrameIterations, camera);
    });
    return true;
  }

  Intrinsics IntrinsicsOf(const Pinhole& camera) const {
    const Eigen::Vector<double, kMostIntrinsics> all(camera.focal, camera.u0, camera.v0,
                                                     camera.aspect, camera.skew);
    return all.head(intrinsics_);
  }

  static IntrinsicsMatrix Schur(const Normal& normal) {
    return normal.intrinsics - normal.mixed.transpose() * normal.factor.solve(normal.mixed);
  }

  void AddWeighted(const Basis& basis, const IntrinsicsMatrix& matrix, const Intrinsics& vector,
                   Eigen::MatrixXd& left, Eigen::VectorXd& right) const {
    const int n = intrinsics_;
    for (int i = 0; i < 4; ++i) {
      const int row = n * (basis.first + i);
      right.segment(row, n) += basis.weight[i] * vector;
      for (int j = 0; j < 4; ++j) {
        left.block(row, n * (basis.first + j), n, n) += basis.weight[i] * basis.weight[j] * matrix;
      }
    }
  }

  Intrinsics At(const Basis& basis, const Eigen::VectorXd& coefficients) const {
    Intrinsics value = Intrinsics::Zero(intrinsics_);
    for (int i = 0; i < 4; ++i) {
      value += basis.weight[i] * coefficients.segment(intrinsics_ * (basis.first + i), intrinsics_);
    }
    return value;
  }

  // The normal equations of the coefficients alone.
  bool Reduce() {
    Eigen::MatrixXd left = Eigen::MatrixXd::Zero(unknowns_, unknowns_);
    right_ = Eigen::VectorXd::Zero(unknowns_);
    for (size_t k = 0; k < frames_.size(); ++k) {
      const Normal& normal = normals_[k];
      AddWeighted(basis_[k], Schur(normal),
                  normal.intrinsics_right -
                      normal.mixed.transpose() * normal.factor.solve(normal.pose_right),
                  left, right_);
    }
    factor_.compute(left);
    return factor_.info() == Eigen::Success && factor_.isPositive() && right_.allFinite();
  }

  void Step(const Eigen::VectorXd& coefficients) {
    for (size_t k = 0; k < frames_.size(); ++k) {
      Eigen::VectorXd step(kPoseParameters + intrinsics_);
      step.tail(intrinsics_) = At(basis_[k], coefficients);
      step.head<6>() = normals_[k].factor.solve(normals_[k].pose_right -
                                                normals_[k].mixed * step.tail(intrinsics_));
      frames_[k].camera = frames_[k].camera.Moved(step);
    }
  }

  std::vector<CameraCovariance> Covariances() const {
    const Eigen::MatrixXd inverse = factor_.solve(Eigen::MatrixXd::Identity(unknowns_, unknowns_));
    const int n = intrinsics_;
    std::vector<CameraCovariance> covariances(frames_.size(), CameraCovariance::Zero());
    for (size_t k = 0; k < frames_.size(); ++k) {
      IntrinsicsMatrix intrinsics = IntrinsicsMatrix::Zero(n, n);
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          intrinsics += basis_[k].weight[i] * basis_[k].weight[j] *
                        inverse.block(n * (basis_[k].first + i), n * (basis_[k].first + j), n, n);
        }
      }
      const MixedMatrix follows = -normals_[k].factor.solve(normals_[k].mixed);
      CameraCovariance& covariance = covariances[k];
      covariance.topLeftCorner<6, 6>() = normals_[k].factor.solve(Matrix6::Identity()) +
                                         follows * intrinsics * follows.transpose();
      covariance.block(0, kPoseParameters, kPoseParameters, n) = follows * intrinsics;
      covariance.block(kPoseParameters, 0, n, kPoseParameters) = (follows * intrinsics).transpose();
      covariance.block(kPoseParameters, kPoseParameters, n, n) = intrinsics;
    }
    return covariances;
  }

  const BeadTable& table_;
  const double scale_;
  ThreadPool& pool_;
  std::vector<FrameShadows>& frames_;
  const int intrinsics_, unknowns_;
  std::vector<Basis> basis_;
  std::vector<Normal> normals_;
  Eigen::LDLT<Eigen::MatrixXd> factor_;
  Eigen::VectorXd right_;
};

}  // namespace

std::vector<CameraCovariance> FitFrames(const BeadTable& table, int parameters, double scale_px,
                                        ThreadPool& pool, std::vector<FrameShadows>& frames) {
  std::vector<CameraCovariance> covariances(frames.size(), CameraCovariance::Zero());
  pool.ParallelFor(static_cast<int64_t>(frames.size()), [&](int64_t k, int) {
    FrameShadows& frame = frames[k];
    FitCamera(table, frame.shadows, parameters, scale_px, kFrameIterations, frame.camera);
    const Eigen::MatrixXd information = Information(table, frame.shadows, scale_px, frame.camera)
                                            .topLeftCorner(parameters, parameters);
    covariances[k].topLeftCorner(parameters, parameters) = information.inverse();
  });
  return covariances;
}

absl::StatusOr<std::vector<CameraCovariance>> FitArm(const BeadTable& table, int parameters,
                                                     double scale_px, int intervals,
                                                     ThreadPool& pool,
                                                     std::vector<FrameShadows>& frames) {
  return ArmFit(table, parameters, scale_px, intervals, pool, frames).Run();
}

int SplineIntervals(const std::vector<FrameShadows>& frames) {
  double travelled = 0;
  for (size_t k = 1; k < frames.size(); ++k) {
    const Vec3 a = frames[k - 1].camera.Source(), b = frames[k].camera.Source();
    travelled += std::abs(std::atan2(a.x * b.y - a.y * b.x, a.x * b.x + a.y * b.y));
  }
  const int wanted = static_cast<int>(std::ceil(RadiansToDegrees(travelled) / kDegreesPerInterval));
  const int most = static_cast<int>(frames.size()) / kLeastFramesPerInterval;
  return std::clamp(wanted, kLeastIntervals, std::max(kLeastIntervals, most));
}

}  // namespace isocenter::calibrate
