#include "kernels/calibrate/water_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/cupping.h"
#include "kernels/calibrate/robust.h"

namespace isocenter::calibrate {
namespace {

constexpr int kClasses = 100, kLeastClasses = 25, kLeastRays = 30;
constexpr double kShortestShare = 0.1;  // of the diameter
constexpr double kCenterShare = 0.9;    // of it, of chords that pass near the center
constexpr int kCoefficients = 4;
constexpr int kHuberSteps = 10;
constexpr double kHuberSigmas = 1.5;
// Beyond what was measured, up to twice as much of it: points that only keep the polynomial from
// turning. Further out they would bend it where it was measured.
constexpr int kTailPoints = 20;
constexpr double kTailReach = 2;
constexpr double kTailWeight = 3e-3;

using Polynomial = std::vector<double>;  // of p, p², ...

double Value(const Polynomial& c, double p) {
  double value = 0;
  for (size_t n = c.size(); n > 0; --n) value = (value + c[n - 1]) * p;
  return value;
}

double Slope(const Polynomial& c, double p) {
  double slope = 0;
  for (size_t n = c.size(); n > 0; --n) slope = slope * p + static_cast<double>(n) * c[n - 1];
  return slope;
}

Polynomial Solve(const std::vector<WaterPoint>& points, const std::vector<double>& weights,
                 int coefficients) {
  Eigen::MatrixXd powers(points.size(), coefficients);
  Eigen::VectorXd chords(points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    double power = weights[i];
    for (int n = 0; n < coefficients; ++n) powers(i, n) = power *= points[i].line_integral;
    chords[i] = weights[i] * points[i].water_mm;
  }
  const Eigen::VectorXd solved = powers.colPivHouseholderQr().solve(chords);
  return {solved.begin(), solved.end()};
}

/// Least squares in which points far from the others count less. The first `judged` points set the
/// scale; the others keep their weights.
Polynomial RobustSolve(const std::vector<WaterPoint>& points, std::vector<double> weights,
                       size_t judged, int coefficients) {
  const std::vector<double> given = weights;
  Polynomial polynomial;
  for (int step = 0; step < kHuberSteps; ++step) {
    polynomial = Solve(points, weights, coefficients);
    std::vector<double> misfit(judged);
    for (size_t i = 0; i < judged; ++i) {
      misfit[i] = points[i].water_mm - Value(polynomial, points[i].line_integral);
    }
    const double bound = kHuberSigmas * std::max(1e-9, RobustSigma(misfit));
    for (size_t i = 0; i < judged; ++i) {
      weights[i] = given[i] * std::sqrt(std::min(1.0, bound / std::abs(misfit[i])));
    }
  }
  return polynomial;
}

Polynomial ChordOfLineIntegral(std::vector<WaterPoint> points) {
  const size_t judged = points.size();
  std::vector<double> weights(judged, 1);
  const WaterPoint longest = points.back();
  // The slope at the end, of a curve that cannot turn within the data.
  const double slope =
      std::max(Slope(RobustSolve(points, weights, judged, 2), longest.line_integral),
               longest.water_mm / longest.line_integral);
  const double end = std::min(kTailReach * longest.line_integral, ops::kLongestLineIntegral);
  for (int i = 1; i <= kTailPoints; ++i) {
    const double p = std::lerp(longest.line_integral, end, static_cast<double>(i) / kTailPoints);
    if (p <= longest.line_integral) break;
    points.push_back({longest.water_mm + slope * (p - longest.line_integral), p});
    weights.push_back(kTailWeight);
  }
  Polynomial polynomial;
  for (int coefficients = kCoefficients; coefficients > 0; --coefficients) {
    polynomial = RobustSolve(points, weights, judged, coefficients);
    if (ops::CheckWaterPolynomial({polynomial}).ok()) break;
  }
  return polynomial;
}

/// The line integral of so much water; the polynomial ascends.
double Inverse(const Polynomial& polynomial, double water_mm) {
  double low = 0, high = ops::kLongestLineIntegral;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (Value(polynomial, middle) < water_mm ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// Figures of the thickest cylinder. Of its cupping nothing is known where no ray comes near its
/// center: a profile through the others is a guess there.
absl::Status Judge(const Polynomial& chord, double diameter_mm, double reference_mm,
                   WaterFit& fit) {
  const double mu = fit.mu_water_per_mm;
  std::vector<ChordIntegral> before, after;
  double squares = 0;
  for (const WaterPoint& point : fit.points) {
    const double misfit = Value(chord, point.line_integral) - point.water_mm;
    squares += misfit * misfit;
    if (point.water_mm > diameter_mm) continue;
    before.push_back({point.water_mm, point.line_integral});
    after.push_back({point.water_mm, mu * Value(chord, point.line_integral)});
  }
  const Figure residual{"distance of the chords from the polynomial",
                        100 * std::sqrt(squares / static_cast<double>(fit.points.size())) /
                            fit.points.back().water_mm,
                        "%"};
  fit.figures = {{"water's attenuation", mu, "1/mm"},
                 {"water that it is stated for", reference_mm, "mm"},
                 residual};
  if (!(residual.value <= kMostWaterResidualPercent)) {
    return NotGoodEnough(residual, absl::StrFormat("at most %g %%", kMostWaterResidualPercent),
                         "is the diameter right, and is nothing but the cylinder in the beam?");
  }
  if (fit.points.back().water_mm < kCenterShare * diameter_mm) return absl::OkStatus();
  const Figure left{"cupping after", CuppingHu(after, diameter_mm, mu), "HU"};
  fit.figures.push_back({"cupping before", CuppingHu(before, diameter_mm, mu), "HU"});
  fit.figures.push_back(left);
  if (!(std::abs(left.value) <= kMostCuppingLeftHu)) {
    return NotGoodEnough(left, absl::StrFormat("within %g HU", kMostCuppingLeftHu),
                         "is the diameter right, and is nothing but the cylinder in the beam?");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<WaterPoint>> WaterPoints(const CylinderScan& scan) {
  struct Class {
    double chord = 0, transmission = 0;
    int rays = 0;
  };
  std::vector<Class> classes(kClasses);
  for (const MeasuredRay& ray : scan.rays) {
    const double chord = scan.cylinder.ChordMm(ray);
    const double share = chord / scan.cylinder.diameter_mm;
    if (share < kShortestShare) continue;
    Class& one = classes[std::min(kClasses - 1, static_cast<int>(share * kClasses))];
    one.chord += chord;
    one.transmission += ray.transmission;
    ++one.rays;
  }
  std::vector<WaterPoint> points;
  for (const Class& one : classes) {
    if (one.rays < kLeastRays || !(one.transmission > 0)) continue;
    points.push_back({one.chord / one.rays, -std::log(one.transmission / one.rays)});
  }
  if (points.size() >= kLeastClasses) return points;
  return absl::FailedPreconditionError(absl::StrCat("the scan has rays of ", points.size(), " of ",
                                                    kClasses, " classes of chords; legal is ",
                                                    kLeastClasses, " at least"));
}

absl::StatusOr<WaterFit> FitWater(const std::vector<CylinderScan>& scans) {
  if (scans.empty()) return absl::InvalidArgumentError("there is no scan of water");
  WaterFit fit;
  double thickest = 0;
  for (const CylinderScan& scan : scans) {
    ISO_ASSIGN_OR_RETURN(const std::vector<WaterPoint> points, WaterPoints(scan));
    fit.points.insert(fit.points.end(), points.begin(), points.end());
    thickest = std::max(thickest, scan.cylinder.diameter_mm);
  }
  std::sort(fit.points.begin(), fit.points.end(),
            [](const auto& a, const auto& b) { return a.water_mm < b.water_mm; });
  const Polynomial chord = ChordOfLineIntegral(fit.points);
  fit.polynomial.coefficient = chord;
  ISO_RETURN_IF_ERROR(ops::CheckWaterPolynomial(fit.polynomial));
  const double reference_mm = std::min(kReferenceMm, thickest);
  fit.mu_water_per_mm = Inverse(chord, reference_mm) / reference_mm;
  for (double& c : fit.polynomial.coefficient) c *= fit.mu_water_per_mm;
  ISO_RETURN_IF_ERROR(ops::CheckWaterPolynomial(fit.polynomial));
  ISO_RETURN_IF_ERROR(Judge(chord, thickest, reference_mm, fit));
  return fit;
}

}  // namespace isocenter::calibrate
