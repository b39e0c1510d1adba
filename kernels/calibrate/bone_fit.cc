#include "kernels/calibrate/bone_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/water/water_fit.h"

namespace isocenter::calibrate {
namespace {

constexpr int kTerms = 6;
constexpr int kLineIntegrals = 41, kBones = 33;  // points of the table

/// A step after the water polynomial.
struct Point {
  double q = 0, bone_mm = 0, water = 0;  // water: mu_water·w
};

/// Of the terms of Lack.
Eigen::Matrix<double, 1, kTerms> TermsAt(double q, double b) {
  return Eigen::Matrix<double, 1, kTerms>{1, q, b, q * q, q * b, b * b} * b;
}

/// mu_water·w - q as a function of (q, b): what is added less mu_bone·b.
using Lack = Eigen::Matrix<double, kTerms, 1>;

Lack Solve(const std::vector<Point>& points, size_t without) {
  Eigen::MatrixXd terms(points.size(), kTerms);
  Eigen::VectorXd lacks(points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    const double weight = i == without ? 0 : 1;
    terms.row(i) = weight * TermsAt(points[i].q, points[i].bone_mm);
    lacks[i] = weight * (points[i].water - points[i].q);
  }
  return terms.colPivHouseholderQr().solve(lacks);
}

double OfWater(const ops::WaterPolynomial& polynomial, double p) {
  double value = 0;
  const std::vector<double>& c = polynomial.coefficient;
  for (size_t n = c.size(); n > 0; --n) value = (value + c[n - 1]) * p;
  return value;
}

absl::Status CheckSteps(const std::vector<BoneStep>& steps) {
  std::set<double> waters, bones;
  int with_bone = 0;
  for (const BoneStep& step : steps) {
    if (!(step.water_mm >= 0 && step.bone_mm >= 0 && step.line_integral > -0.1 &&
          step.line_integral <= ops::kLongestLineIntegral)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%g mm of water and %g mm of bone have a line integral of %g; legal are 0 at least, and "
          "-0.1 to %g",
          step.water_mm, step.bone_mm, step.line_integral, ops::kLongestLineIntegral));
    }
    if (step.bone_mm == 0) continue;
    ++with_bone;
    waters.insert(step.water_mm);
    bones.insert(step.bone_mm);
  }
  if (with_bone >= kLeastBoneSteps && static_cast<int>(bones.size()) >= kLeastBones &&
      static_cast<int>(waters.size()) >= kLeastWaters) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("there are ", with_bone, " steps with bone, of ", bones.size(),
                   " thicknesses of bone and ", waters.size(), " of water; legal is ",
                   kLeastBoneSteps, " at least, of ", kLeastBones, " and ", kLeastWaters));
}

/// Which line integrals were measured behind so much bone, between the steps' thicknesses linearly.
class Measured {
 public:
  explicit Measured(const std::vector<Point>& points) {
    for (const Point& point : points) {
      const auto [at, first] = ranges_.try_emplace(point.bone_mm, Range{point.q, point.q});
      at->second.least = std::min(at->second.least, point.q);
      at->second.most = std::max(at->second.most, point.q);
    }
    if (ranges_.begin()->first > 0) ranges_[0] = {0, ranges_.begin()->second.most};
  }
  double Clamped(double q, double bone_mm) const {
    auto above = ranges_.lower_bound(bone_mm);
    if (above == ranges_.end()) above = std::prev(ranges_.end());
    const auto below = above == ranges_.begin() ? above : std::prev(above);
    const double width = above->first - below->first;
    const double share = width > 0 ? (bone_mm - below->first) / width : 1;
    return std::clamp(q, std::lerp(below->second.least, above->second.least, share),
                      std::lerp(below->second.most, above->second.most, share));
  }

 private:
  struct Range {
    double least = 0, most = 0;
  };
  std::map<double, Range> ranges_;
};

ops::BoneTable TableOf(const std::vector<Point>& points, const Lack& lack, double mu_bone,
                       double mu_water) {
  const Measured measured(points);
  ops::BoneTable table{.line_integrals = kLineIntegrals,
                       .bones = kBones,
                       .from_hu = kBoneFromHu,
                       .full_hu = 1000 * (mu_bone / mu_water - 1)};
  for (const Point& point : points) {
    table.most_line_integral = std::max(table.most_line_integral, point.q);
    table.most_bone_mm = std::max(table.most_bone_mm, point.bone_mm);
  }
  for (int j = 0; j < kBones; ++j) {
    const double b = table.most_bone_mm * j / (kBones - 1);
    for (int i = 0; i < kLineIntegrals; ++i) {
      const double q = table.most_line_integral * i / (kLineIntegrals - 1);
      table.added.push_back(j == 0 ? 0
                                   : TermsAt(measured.Clamped(q, b), b).dot(lack) + mu_bone * b);
    }
  }
  return table;
}

/// Root mean square, in % of `of`.
Figure Missed(const char* what, const std::vector<double>& missed, double of) {
  double squares = 0;
  for (const double each : missed) squares += each * each;
  const auto count = static_cast<double>(std::max<size_t>(1, missed.size()));
  return {what, 100 * std::sqrt(squares / count) / of, "%"};
}

/// What steps miss when nothing but an attenuation of bone is fitted.
std::vector<double> MissedWithout(const std::vector<Point>& points) {
  double lacks = 0, squares = 0;
  for (const Point& point : points) {
    lacks += point.bone_mm * (point.q - point.water);
    squares += point.bone_mm * point.bone_mm;
  }
  std::vector<double> missed;
  for (const Point& point : points) {
    missed.push_back(point.q - point.water - lacks / squares * point.bone_mm);
  }
  return missed;
}

absl::Status Judge(const Figure& figure, const char* advice) {
  if (figure.value <= kMostBoneMissedPercent) return absl::OkStatus();
  return NotGoodEnough(figure, absl::StrFormat("at most %g %%", kMostBoneMissedPercent), advice);
}

}  // namespace

absl::StatusOr<BoneFit> FitBone(const std::vector<BoneStep>& steps,
                                const ops::WaterPolynomial& water, double mu_water_per_mm) {
  ISO_RETURN_IF_ERROR(ops::CheckWaterPolynomial(water));
  if (!(mu_water_per_mm >= 0.001 && mu_water_per_mm <= 0.1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("water's attenuation is ", mu_water_per_mm, " /mm; legal is 0.001 to 0.1"));
  }
  ISO_RETURN_IF_ERROR(CheckSteps(steps));
  std::vector<Point> points;
  std::vector<double> water_missed;
  double longest = 0;
  for (const BoneStep& step : steps) {
    points.push_back(
        {OfWater(water, step.line_integral), step.bone_mm, mu_water_per_mm * step.water_mm});
    longest = std::max(longest, points.back().q);
    if (step.bone_mm == 0) water_missed.push_back(points.back().q - points.back().water);
  }
  BoneFit fit;
  const Lack lack = Solve(points, points.size());
  const double reference = std::min(mu_water_per_mm * kReferenceMm, longest);
  fit.mu_bone_per_mm = -(lack[0] + lack[1] * reference + lack[3] * reference * reference);
  fit.table = TableOf(points, lack, fit.mu_bone_per_mm, mu_water_per_mm);
  if (std::isfinite(fit.table.full_hu) &&
      (fit.table.full_hu < kLeastBoneHu || fit.table.full_hu > ops::kMostBoneHu)) {
    return NotGoodEnough({"bone's HU, by the steps", fit.table.full_hu, "HU"},
                         absl::StrFormat("%g to %g HU", kLeastBoneHu, ops::kMostBoneHu),
                         "are the thicknesses of bone and water right, and in millimetres?");
  }
  ISO_RETURN_IF_ERROR(ops::CheckBoneTable(fit.table));
  for (size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i];
    const auto terms = TermsAt(point.q, point.bone_mm);
    fit.missed_after.push_back(point.q + terms.dot(Solve(points, i)) - point.water);
  }
  fit.missed_before = MissedWithout(points);
  Figure water_figure =
      Missed("steps without bone off the water polynomial", water_missed, longest);
  Figure left = Missed("steps off the table of the others", fit.missed_after, longest);
  for (Figure* judged : {&water_figure, &left}) judged->limit = AtMost(kMostBoneMissedPercent);
  fit.figures = {{"steps", static_cast<double>(steps.size()), ""},
                 {"most bone", fit.table.most_bone_mm, "mm"},
                 {"longest line integral", longest, ""},
                 {"bone's attenuation", fit.mu_bone_per_mm, "1/mm"},
                 {"bone's HU", fit.table.full_hu, "HU",
                  absl::StrFormat("%g to %g", kLeastBoneHu, ops::kMostBoneHu)},
                 Missed("steps off a line without a table", fit.missed_before, longest),
                 left,
                 water_figure};
  ISO_RETURN_IF_ERROR(
      Judge(water_figure, "is it the beam of the water polynomial, and are thicknesses right?"));
  ISO_RETURN_IF_ERROR(Judge(left, "are all thicknesses right, and is little scattered?"));
  return fit;
}

}  // namespace isocenter::calibrate
