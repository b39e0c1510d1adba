#include "kernels/calibrate/geometry/geometry_checks.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/units.h"
#include "kernels/calibrate/robust.h"

namespace isocenter::calibrate {
namespace {

// Of the frames in which a ball should be seen.
constexpr double kNeverSeenShare = 0.9;
// Unexplained round shadows per frame, from which the table may lack a ball.
constexpr double kManyUnexplained = 0.5;

std::vector<Vec3> CornersOf(const BeadTable& table) {
  Vec3 low = table[0].center, high = low;
  for (const Bead& bead : table) {
    const Vec3 c = bead.center;
    low = {std::min(low.x, c.x), std::min(low.y, c.y), std::min(low.z, c.z)};
    high = {std::max(high.x, c.x), std::max(high.y, c.y), std::max(high.z, c.z)};
  }
  std::vector<Vec3> corners;
  for (int i = 0; i < 8; ++i) {
    corners.push_back({i & 1 ? high.x : low.x, i & 2 ? high.y : low.y, i & 4 ? high.z : low.z});
  }
  return corners;
}

// The larger standard deviation of a point on the detector.
double PointSigma(const Pinhole& camera, Vec3 point, const CameraCovariance& covariance) {
  const CameraJacobian jacobian = Jacobian(camera, point);
  const Eigen::Matrix2d c = jacobian * covariance * jacobian.transpose();
  const double mean = (c(0, 0) + c(1, 1)) / 2;
  return std::sqrt(mean + std::hypot((c(0, 0) - c(1, 1)) / 2, c(0, 1)));
}

// Of the source, along the camera's axes: it moves by turn × translation - shift.
Eigen::Matrix3d SourceCovariance(const Pinhole& camera, const CameraCovariance& covariance) {
  const Eigen::Vector3d t = camera.translation;
  Eigen::Matrix<double, 3, 6> moves;
  moves << 0, t.z(), -t.y(), -1, 0, 0, -t.z(), 0, t.x(), 0, -1, 0, t.y(), -t.x(), 0, 0, 0, -1;
  return moves * covariance.topLeftCorner<6, 6>() * moves.transpose();
}

}  // namespace

absl::Status CheckFrames(const std::vector<SweepFrame>& frames) {
  size_t bad = 0;
  const SweepFrame* first = nullptr;
  for (const SweepFrame& frame : frames) {
    if (frame.status.ok()) continue;
    if (first == nullptr) first = &frame;
    ++bad;
  }
  if (first != nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("frame ", first - frames.data(), " (the first of ", bad,
                     " without the phantom): ", first->status.message()));
  }
  const SweepFrame& worst = *std::ranges::min_element(
      frames, {}, [](const SweepFrame& frame) { return frame.report.measured; });
  const FrameReport& report = worst.report;
  if (report.measured >= kLeastMeasuredBalls) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "frame %d has %d balls that can be measured; legal is %d or more: %d are beyond the "
      "detector, %d too near to others, %d are not seen, %d overlap something else",
      &worst - frames.data(), report.measured, kLeastMeasuredBalls, report.outside, report.crowded,
      report.missing, report.odd));
}

GeometrySigmas SigmasOf(const BeadTable& table, const std::vector<FrameShadows>& frames,
                        const std::vector<CameraCovariance>& covariances, double variance) {
  const std::vector<Vec3> corners = CornersOf(table);
  double along = 0, across = 0, tilt = 0, roll = 0, aspect = 0, skew = 0, point = 0;
  for (size_t k = 0; k < frames.size(); ++k) {
    const CameraCovariance covariance = variance * covariances[k];
    const Eigen::Matrix3d source = SourceCovariance(frames[k].camera, covariance);
    along += source(2, 2);
    across += std::max(source(0, 0), source(1, 1));
    tilt += std::max(covariance(0, 0), covariance(1, 1));
    roll += covariance(2, 2);
    aspect += covariance(9, 9);
    skew += covariance(10, 10);
    for (const Vec3 corner : corners) {
      point = std::max(point, PointSigma(frames[k].camera, corner, covariance));
    }
  }
  const auto count = static_cast<double>(frames.size());
  return {.source_along_mm = std::sqrt(along / count),
          .source_across_mm = std::sqrt(across / count),
          .tilt_deg = RadiansToDegrees(std::sqrt(tilt / count)),
          .roll_deg = RadiansToDegrees(std::sqrt(roll / count)),
          .aspect = std::sqrt(aspect / count),
          .skew = std::sqrt(skew / count),
          .point_px = point};
}

void Summarise(GeometryFit& fit) {
  double measured = 0, worst_rms = 0;
  int least = fit.frames.front().measured;
  std::vector<double> unexplained;
  for (const FrameReport& frame : fit.frames) {
    measured += frame.measured;
    least = std::min(least, frame.measured);
    worst_rms = std::max(worst_rms, frame.rms_px);
    unexplained.push_back(frame.unexplained);
  }
  double offsets = 0, seen = 0;
  for (size_t i = 0; i < fit.balls.size(); ++i) {
    BallReport& ball = fit.balls[i];
    if (ball.left_out) {
      fit.warnings.push_back(absl::StrCat("ball ", i, " was left out: it ", ball.why));
      continue;
    }
    if (!ball.why.empty()) fit.warnings.push_back(absl::StrCat("ball ", i, " ", ball.why));
    if (ball.missing > 0 && ball.missing >= kNeverSeenShare * (ball.missing + ball.frames)) {
      ball.why = absl::StrCat("is not seen in ", ball.missing, " of ", ball.missing + ball.frames,
                              " frames");
      fit.warnings.push_back(absl::StrCat("ball ", i, " ", ball.why,
                                          ": it is missing, or the table has it elsewhere"));
    }
    if (ball.frames == 0) continue;
    offsets += Dot(ball.offset, ball.offset);
    seen += 1;
  }
  if (Median(unexplained) >= kManyUnexplained) {
    fit.warnings.push_back(absl::StrFormat(
        "most frames have round shadows that no ball of the table explains (median %g): the table "
        "lacks a ball, or something else is in the beam",
        Median(unexplained)));
  }
  if (fit.rms_aspect > kMostAspect) {
    fit.warnings.push_back(
        absl::StrFormat("pixels' sides differ by %.2f %% (root mean square of all frames); "
                        "expected of a flat panel "
                        "is at most %g %%: has the table of balls the right lengths along each of "
                        "its axes, and the "
                        "header the detector's pitches?",
                        100 * fit.rms_aspect, 100 * kMostAspect));
  }
  if (const double skew_deg = RadiansToDegrees(fit.rms_skew); skew_deg > kMostSkewDeg) {
    fit.warnings.push_back(absl::StrFormat(
        "rows and columns are %.2f degrees off a right angle (root mean square of all frames); "
        "expected of a flat panel is at most %g: is the table of balls sheared, one of its "
        "coordinates with a part of another?",
        skew_deg, kMostSkewDeg));
  }
  fit.figures = {
      {"frames", static_cast<double>(fit.frames.size()), ""},
      {"balls measured in a frame, mean", measured / static_cast<double>(fit.frames.size()), ""},
      {"balls measured in a frame, least", static_cast<double>(least), ""},
      {"residual, all frames", fit.rms_px, "px", AtMost(kMostResidualPx)},
      {"residual, worst frame", worst_rms, "px", AtMost(kMostFrameResidualPx)},
      {"balls' distance from the table, rms", std::sqrt(offsets / std::max(1.0, seen)), "mm"},
      {"sigma of a point of the phantom", fit.sigmas.point_px, "px", AtMost(kMostPointSigmaPx)},
      {"sigma of the source, along", fit.sigmas.source_along_mm, "mm"},
      {"sigma of the source, across", fit.sigmas.source_across_mm, "mm"},
      {"sigma of the detector's tilt", fit.sigmas.tilt_deg, "deg"},
      {"sigma of the detector's roll", fit.sigmas.roll_deg, "deg"}};
}

absl::Status CheckFit(const GeometryFit& fit) {
  const Figure all{"residual of all frames", fit.rms_px, "px"};
  if (!(all.value <= kMostResidualPx)) {
    return NotGoodEnough(all, absl::StrFormat("at most %g px", kMostResidualPx),
                         "is the table that of this phantom, and did it stand still?");
  }
  const auto worst = std::ranges::max_element(fit.frames, {}, &FrameReport::rms_px);
  const Figure one{absl::StrCat("residual of frame ", worst - fit.frames.begin()), worst->rms_px,
                   "px"};
  if (!(one.value <= kMostFrameResidualPx)) {
    return NotGoodEnough(one, absl::StrFormat("at most %g px", kMostFrameResidualPx),
                         "did the phantom stand still, with nothing of metal beside it?");
  }
  const Figure point{"standard deviation of a point of the phantom on the detector",
                     fit.sigmas.point_px, "px"};
  if (point.value <= kMostPointSigmaPx) return absl::OkStatus();
  return NotGoodEnough(point, absl::StrFormat("at most %g px", kMostPointSigmaPx),
                       "all of the phantom on the detector in all frames, or more dose");
}

}  // namespace isocenter::calibrate
