#include "kernels/geometry/motion_curve.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"

namespace isocenter {
namespace {

constexpr uint64_t kMostFileBytes = 4 << 20;
constexpr int kColumns = 7;

using Six = std::array<double, 6>;

Six ToSix(const RigidPose& p) {
  return {p.shift_mm.x, p.shift_mm.y, p.shift_mm.z, p.turn_rad.x, p.turn_rad.y, p.turn_rad.z};
}
RigidPose FromSix(const Six& s) { return {{s[3], s[4], s[5]}, {s[0], s[1], s[2]}}; }

absl::Status CheckKnot(const std::vector<MotionKnot>& knots, size_t k) {
  const auto bad = [k](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("knot ", k, ": ", what));
  };
  const MotionKnot& knot = knots[k];
  if (!(knot.share >= 0 && knot.share <= 1)) {
    return bad(absl::StrCat("the share of the scan is ", knot.share, "; legal is 0 to 1"));
  }
  if (k > 0 && !(knot.share > knots[k - 1].share)) {
    return bad(absl::StrCat("the share of the scan is ", knot.share,
                            "; legal is above that of the knot before, ", knots[k - 1].share));
  }
  const double shift_mm = Norm(knot.pose.shift_mm);
  if (!(shift_mm <= kMostShiftMm)) {
    return bad(
        absl::StrCat("the shift is ", shift_mm, " mm long; legal is at most ", kMostShiftMm));
  }
  const double turn_deg = RadiansToDegrees(Norm(knot.pose.turn_rad));
  if (!(turn_deg <= kMostTurnDeg)) {
    return bad(absl::StrCat("the turn is ", turn_deg, " degrees; legal is at most ", kMostTurnDeg));
  }
  return absl::OkStatus();
}

// Steffen's slope at a point between two intervals of lengths a, b with slopes p, q.
double SlopeBetween(double a, double p, double b, double q) {
  if (p * q <= 0) return 0;
  const double parabola = (p * b + q * a) / (a + b);
  const double least = std::min({std::abs(p), std::abs(q), std::abs(parabola) / 2});
  return std::copysign(2 * least, p);
}

// At the outer end of an interval of length a with slope p, the next one has length b and slope q.
double SlopeAtEnd(double a, double p, double b, double q) {
  const double parabola = p * (1 + a / (a + b)) - q * a / (a + b);
  if (parabola * p <= 0) return 0;
  return std::abs(parabola) > 2 * std::abs(p) ? 2 * p : parabola;
}

}  // namespace

absl::StatusOr<MotionCurve> MotionCurve::Make(std::vector<MotionKnot> knots) {
  if (knots.empty() || knots.size() > kMostMotionKnots) {
    return absl::InvalidArgumentError(
        absl::StrCat("the motion has ", knots.size(), " knots; legal is 1 to ", kMostMotionKnots));
  }
  for (size_t k = 0; k < knots.size(); ++k) ISO_RETURN_IF_ERROR(CheckKnot(knots, k));
  return MotionCurve(std::move(knots));
}

MotionCurve::MotionCurve(std::vector<MotionKnot> knots)
    : knots_(std::move(knots)), slopes_(knots_.size()) {
  const size_t last = knots_.size() - 1;
  if (last == 0) return;
  std::vector<double> length(last);
  std::vector<Six> slope(last);
  for (size_t k = 0; k < last; ++k) {
    length[k] = knots_[k + 1].share - knots_[k].share;
    const Six from = ToSix(knots_[k].pose), to = ToSix(knots_[k + 1].pose);
    for (int i = 0; i < 6; ++i) slope[k][i] = (to[i] - from[i]) / length[k];
  }
  for (size_t k = 0; k <= last; ++k) {
    Six at;
    for (int i = 0; i < 6; ++i) {
      if (last == 1) {
        at[i] = slope[0][i];
      } else if (k == 0) {
        at[i] = SlopeAtEnd(length[0], slope[0][i], length[1], slope[1][i]);
      } else if (k == last) {
        at[i] = SlopeAtEnd(length[k - 1], slope[k - 1][i], length[k - 2], slope[k - 2][i]);
      } else {
        at[i] = SlopeBetween(length[k - 1], slope[k - 1][i], length[k], slope[k][i]);
      }
    }
    slopes_[k] = FromSix(at);
  }
}

RigidPose MotionCurve::At(double share) const {
  if (share <= knots_.front().share) return knots_.front().pose;
  if (share >= knots_.back().share) return knots_.back().pose;
  const auto after = std::ranges::upper_bound(knots_, share, {}, &MotionKnot::share);
  const size_t k = after - knots_.begin() - 1;
  const double length = knots_[k + 1].share - knots_[k].share;
  const double t = (share - knots_[k].share) / length, s = 1 - t;
  const Six p = ToSix(knots_[k].pose), q = ToSix(knots_[k + 1].pose);
  const Six dp = ToSix(slopes_[k]), dq = ToSix(slopes_[k + 1]);
  Six at;
  for (int i = 0; i < 6; ++i) {  // Hermite
    at[i] = p[i] + t * t * (1 + 2 * s) * (q[i] - p[i]) + s * t * length * (s * dp[i] - t * dq[i]);
  }
  return FromSix(at);
}

std::vector<RigidPose> MotionCurve::AtFrames(int frames) const {
  std::vector<RigidPose> poses;
  for (int k = 0; k < frames; ++k) poses.push_back(At(frames > 1 ? k / (frames - 1.0) : 0));
  return poses;
}

absl::StatusOr<MotionCurve> ParseMotion(absl::string_view text) {
  std::vector<MotionKnot> knots;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const std::vector<absl::string_view> words = absl::StrSplit(
        line.substr(0, line.find('#')), absl::ByAnyChar(" \t\r,"), absl::SkipEmpty());
    if (words.empty()) continue;
    double v[kColumns];
    bool good = words.size() == kColumns;
    for (int i = 0; good && i < kColumns; ++i) {
      good = absl::SimpleAtod(words[i], &v[i]) && std::isfinite(v[i]);
    }
    if (!good) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "line %d is '%s'; legal are seven numbers, the share of the scan, x, y, z of the shift "
          "in mm and of the turn in degrees, or a comment after #",
          number, line.substr(0, 80)));
    }
    if (knots.size() == kMostMotionKnots) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": more knots than the legal ", kMostMotionKnots));
    }
    const double turn = DegreesToRadians(1);
    knots.push_back({v[0], {{turn * v[4], turn * v[5], turn * v[6]}, {v[1], v[2], v[3]}}});
  }
  return MotionCurve::Make(std::move(knots));
}

absl::StatusOr<MotionCurve> ReadMotionFile(absl::string_view flag, const std::string& path) {
  ISO_ASSIGN_OR_RETURN(const std::string text, ReadRegularFile(flag, path, kMostFileBytes));
  absl::StatusOr<MotionCurve> curve = ParseMotion(text);
  if (curve.ok()) return curve;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", curve.status().message()));
}

std::string MotionText(std::span<const RigidPose> poses) {
  std::string text = "# share of the scan, shift x, y, z in mm, turn x, y, z in degrees\n";
  const double last = std::max<double>(1, static_cast<double>(poses.size()) - 1);
  for (size_t k = 0; k < poses.size(); ++k) {
    const Six p = ToSix(poses[k]);
    absl::StrAppendFormat(&text, "%.17g,%.9f,%.9f,%.9f,%.9f,%.9f,%.9f\n",
                          static_cast<double>(k) / last, p[0], p[1], p[2], RadiansToDegrees(p[3]),
                          RadiansToDegrees(p[4]), RadiansToDegrees(p[5]));
  }
  return text;
}

}  // namespace isocenter
