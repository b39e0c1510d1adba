#include "kernels/calibrate/consistency/pose_fit.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/calibrate/consistency/epipolar_pairs.h"
#include "kernels/calibrate/consistency/posed_pairs.h"
#include "kernels/calibrate/robust.h"
#include "kernels/geometry/angle_between.h"

namespace isocenter::calibrate {
namespace {

constexpr int kPose = 6;
constexpr double kLeverMm = 60;  // an angle is a way of what is so far from the isocentre
constexpr std::array kCoarse = {3, 2, 1};
constexpr int kPlanes = 32;
// Near frames differ by little but what moves between them; opposite ones see planes that are
// nearly one.
constexpr double kLeastAngleDeg = 10, kMostAngleDeg = 170;
constexpr size_t kMostPairs = 6000;
constexpr int kTries = 8;             // steps for each coarseness, those that are taken back too
constexpr double kLeastGain = 1e-3;   // of the cost, of a step after which others follow
constexpr double kScalePerSigma = 3;  // Cauchy's
constexpr double kFirstDamping = 1e-3, kLessDamping = 0.1, kMoreDamping = 10;
// Standard deviations of what is added to a frame's pose, in mm: along u, v and depth, of turns
// about these. Planes run along the rows: they tell shifts across these, nods and rolls.
constexpr std::array<double, kPose> kPriorMm = {0.055, 1.85, 0.37, 9, 0.18, 0.9};

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

/// What all pairs say with some poses.
struct Equations {
  std::vector<PosedPair> pairs;
  double median = 0;
  int64_t planes = 0, cut = 0;

  double sigma() const { return std::max(1e-30, 1.4826 * median); }
  /// Cauchy's, the mean over the planes.
  double Cost(double sigma) const {
    const double scale = kScalePerSigma * sigma;
    double sum = 0;
    for (const PosedPair& pair : pairs) {
      for (const PlaneEquation& plane : pair.equations) {
        sum += std::log1p(std::pow(plane.difference / scale, 2));
      }
    }
    return kScalePerSigma * kScalePerSigma / 2 * sum / static_cast<double>(planes);
  }
};

/// Frames that are so many times as coarse, in pairs.
class Level {
 public:
  Level(const Trajectory& trajectory, const Detector& detector, HostView3<const float> lines,
        int coarse, ThreadPool& pool)
      : radius_mm_(EpipolarRadiusMm(trajectory, detector)), pool_(pool) {
    const auto pixels = static_cast<size_t>(lines.shape().middle * lines.shape().fast);
    std::vector<std::unique_ptr<LineView>> made(trajectory.size());
    pool.ParallelFor(lines.shape().slow, [&](int64_t k, int) {
      made[k] = std::make_unique<LineView>(std::span(lines.row(k, 0), pixels), detector, coarse,
                                           trajectory[k]);
    });
    std::vector<Vec3> sources;
    for (auto& view : made) {
      sources.push_back(view->source());
      views_.push_back(std::move(*view));
    }
    const auto apart_deg = [&](int a, int b) {
      return RadiansToDegrees(AngleBetween(sources[a], sources[b]));
    };
    for (const auto& [a, b] : EpipolarPairs(sources)) {
      const double angle_deg = apart_deg(a, b);
      if (angle_deg >= kLeastAngleDeg && angle_deg <= kMostAngleDeg) pairs_.emplace_back(a, b);
    }
    const int every = static_cast<int>((pairs_.size() + kMostPairs - 1) / kMostPairs);
    std::erase_if(pairs_, [&](const auto& pair) { return pair.first % every != 0; });
  }

  const std::vector<std::pair<int, int>>& pairs() const { return pairs_; }

  Equations At(std::span<const RigidPose> poses) const {
    std::vector<PosedView> posed;
    for (size_t k = 0; k < views_.size(); ++k) posed.emplace_back(views_[k], poses[k]);
    Equations all;
    all.pairs.resize(pairs_.size());
    pool_.ParallelFor(static_cast<int64_t>(pairs_.size()), [&](int64_t i, int) {
      all.pairs[i] =
          ComparePair(posed[pairs_[i].first], posed[pairs_[i].second], radius_mm_, kPlanes);
    });
    std::vector<double> differences;
    for (const PosedPair& pair : all.pairs) {
      all.cut += pair.cut;
      for (const PlaneEquation& plane : pair.equations) {
        differences.push_back(std::abs(plane.difference));
      }
    }
    all.planes = static_cast<int64_t>(differences.size());
    if (!differences.empty()) all.median = Median(std::move(differences));
    return all;
  }

 private:
  std::vector<LineView> views_;
  std::vector<std::pair<int, int>> pairs_;
  double radius_mm_;
  ThreadPool& pool_;
};

/// What is added to the poses: [curve][shift x, y, z, turn about x, y, z], in mm.
class Added {
 public:
  Added(std::span<const RigidPose> poses, std::span<const double> curves)
      : poses_(poses), curves_(curves), count_(static_cast<int>(curves.size() / poses.size())) {}

  int unknowns() const { return kPose * count_; }

  std::vector<RigidPose> To(const Vector& added) const {
    std::vector<RigidPose> all;
    for (size_t k = 0; k < poses_.size(); ++k) {
      Eigen::Matrix<double, kPose, 1> six = Eigen::Matrix<double, kPose, 1>::Zero();
      for (int c = 0; c < count_; ++c) six += curve(k, c) * added.segment<kPose>(kPose * c);
      const RigidPose more{.turn_rad = (1 / kLeverMm) * Vec3{six[3], six[4], six[5]},
                           .shift_mm = {six[0], six[1], six[2]}};
      all.push_back(PoseOf(Then(TransformOf(poses_[k]), TransformOf(more))));
    }
    return all;
  }

  /// Adds a frame's, or two frames', part of the squares and of the gradient.
  void Gather(int a, const Eigen::Matrix<double, kPose, kPose>& block, int b, Matrix& left) const {
    for (int i = 0; i < count_; ++i) {
      if (curve(a, i) == 0) continue;
      for (int j = 0; j < count_; ++j) {
        if (curve(b, j) == 0) continue;
        left.block<kPose, kPose>(kPose * i, kPose * j) += curve(a, i) * curve(b, j) * block;
      }
    }
  }
  void Gather(int a, const Eigen::Matrix<double, kPose, 1>& part, Vector& right) const {
    for (int i = 0; i < count_; ++i) right.segment<kPose>(kPose * i) += curve(a, i) * part;
  }

 private:
  double curve(size_t frame, int c) const { return curves_[frame * count_ + c]; }

  std::span<const RigidPose> poses_;
  std::span<const double> curves_;
  int count_;
};

absl::StatusOr<Matrix> Prior(const Trajectory& trajectory, const Added& added) {
  Matrix prior = Matrix::Zero(added.unknowns(), added.unknowns());
  for (size_t k = 0; k < trajectory.size(); ++k) {
    ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(trajectory[k]));
    const std::array axes = {camera.u_axis, camera.v_axis, camera.depth_axis};
    Eigen::Matrix<double, kPose, kPose> block = Eigen::Matrix<double, kPose, kPose>::Zero();
    for (int i = 0; i < kPose; ++i) {
      const Vec3 axis = axes[i % 3];
      const Eigen::Vector3d along(axis.x, axis.y, axis.z);
      const int at = i / 3 * 3;
      block.block<3, 3>(at, at) += along * along.transpose() / (kPriorMm[i] * kPriorMm[i]);
    }
    added.Gather(static_cast<int>(k), block, static_cast<int>(k), prior);
  }
  return prior;
}

/// Normal equations with Cauchy's weights, of differences over `sigma`.
struct Normal {
  Matrix left;
  Vector gradient;
};
Normal NormalOf(const Equations& all, const Level& level, const Added& added, double sigma) {
  const double scale = kScalePerSigma * sigma;
  Normal normal{Matrix::Zero(added.unknowns(), added.unknowns()), Vector::Zero(added.unknowns())};
  for (size_t p = 0; p < all.pairs.size(); ++p) {
    Eigen::Matrix<double, 2 * kPose, 2 * kPose> left =
        Eigen::Matrix<double, 2 * kPose, 2 * kPose>::Zero();
    Eigen::Matrix<double, 2 * kPose, 1> gradient = Eigen::Matrix<double, 2 * kPose, 1>::Zero();
    for (const PlaneEquation& plane : all.pairs[p].equations) {
      Eigen::Matrix<double, 2 * kPose, 1> by =
          Eigen::Map<const Eigen::Matrix<float, 2 * kPose, 1>>(plane.by_pose.data()).cast<double>();
      by.segment<3>(3) /= kLeverMm;
      by.segment<3>(kPose + 3) /= kLeverMm;
      const double weight = 1 / (1 + std::pow(plane.difference / scale, 2)) / (sigma * sigma);
      left += weight * by * by.transpose();
      gradient += weight * plane.difference * by;
    }
    const std::array frames = {level.pairs()[p].first, level.pairs()[p].second};
    for (int i = 0; i < 2; ++i) {
      added.Gather(frames[i], gradient.segment<kPose>(kPose * i), normal.gradient);
      for (int j = 0; j < 2; ++j) {
        added.Gather(frames[i], left.block<kPose, kPose>(kPose * i, kPose * j), frames[j],
                     normal.left);
      }
    }
  }
  return normal;
}

/// Levenberg's and Marquardt's steps with one coarseness. `tried` is told how many there were.
/// Returns the median difference where they end.
absl::StatusOr<double> Steps(const Level& level, const Added& added, const Matrix& prior, Vector& x,
                             const std::function<absl::Status(int)>& tried) {
  Equations here = level.At(added.To(x));
  double damping = kFirstDamping;
  for (int step = 0; step < kTries && here.planes > 0; ++step) {
    if (tried != nullptr) ISO_RETURN_IF_ERROR(tried(step));
    const double sigma = here.sigma();
    // As many planes at each place: those that a step loses are no gain.
    const auto cost = [&](const Equations& all, const Vector& at) {
      return static_cast<double>(here.planes) * all.Cost(sigma) + at.dot(prior * at) / 2;
    };
    const Normal normal = NormalOf(here, level, added, sigma);
    Matrix left = normal.left + prior;
    left.diagonal() += damping * left.diagonal();
    const Vector next = x - left.llt().solve(normal.gradient + prior * x);
    Equations there = level.At(added.To(next));
    const double before = cost(here, x);
    const double after = there.planes > 0 ? cost(there, next) : before;
    if (!(after < before)) {
      damping *= kMoreDamping;
      continue;
    }
    x = next;
    here = std::move(there);
    damping *= kLessDamping;
    if (before - after < kLeastGain * before) break;
  }
  return here.median;
}

std::string WhyNot(const Equations& finest, int unknowns) {
  const auto all = static_cast<double>(finest.planes + finest.cut);
  if (static_cast<double>(finest.cut) > kMostCutShare * all) {
    return absl::StrFormat(
        "the detector cuts the object on %.0f %% of the planes that pairs of frames have in "
        "common; "
        "legal is at most %.0f %%",
        100 * static_cast<double>(finest.cut) / all, 100 * kMostCutShare);
  }
  if (finest.planes > 0 && finest.median == 0) return "pairs of frames do not differ on any plane";
  if (const int64_t least = int64_t{kLeastPlanesPerUnknown} * unknowns; finest.planes < least) {
    return absl::StrFormat("pairs of frames have %d planes in common; legal is %d or more",
                           finest.planes, least);
  }
  return "";
}

}  // namespace

absl::StatusOr<PoseFit> FitPoses(const Trajectory& trajectory, const Detector& detector,
                                 HostView3<const float> lines, std::span<const RigidPose> poses,
                                 std::span<const double> curves, ThreadPool& pool,
                                 const PoseFitProgress& progress) {
  PoseFit fit{.poses = {poses.begin(), poses.end()}};
  const Added added(poses, curves);
  ISO_ASSIGN_OR_RETURN(const Matrix prior, Prior(trajectory, added));
  {
    const Level finest(trajectory, detector, lines, 1, pool);
    const Equations given = finest.At(poses);
    fit.planes = given.planes;
    fit.cut = given.cut;
    fit.before = fit.after = given.median;
    fit.kept = WhyNot(given, added.unknowns());
    if (!fit.kept.empty()) return fit;
  }
  Vector x = Vector::Zero(added.unknowns());
  for (size_t i = 0; i < kCoarse.size(); ++i) {
    const Level level(trajectory, detector, lines, kCoarse[i], pool);
    const auto tried = [&](int step) {
      const double share = (static_cast<double>(i) + double(step) / kTries) / kCoarse.size();
      return progress == nullptr ? absl::OkStatus() : progress(share);
    };
    ISO_ASSIGN_OR_RETURN(const double after, Steps(level, added, prior, x, tried));
    if (kCoarse[i] != 1) continue;
    if (!(after < fit.before)) {
      fit.kept = absl::StrFormat(
          "planes agree no better with others (median difference %.3g, %.3g)", after, fit.before);
      return fit;
    }
    fit.after = after;
    fit.poses = added.To(x);
  }
  return fit;
}

// Small frames, and what all pairs say before and after a step.
int64_t PoseFitBytes(const Detector& detector, int views) {
  const auto frames = int64_t{views} * detector.columns * detector.rows;
  const int64_t pairs = std::min<int64_t>(kMostPairs, int64_t{kMostPartners} * views);
  return frames * static_cast<int64_t>(sizeof(float)) +
         2 * pairs * kPlanes * static_cast<int64_t>(sizeof(PlaneEquation));
}

}  // namespace isocenter::calibrate
