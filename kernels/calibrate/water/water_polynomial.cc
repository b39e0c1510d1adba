#include "kernels/calibrate/water/water_polynomial.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "kernels/calibrate/robust.h"

namespace isocenter::calibrate {
namespace {

constexpr int kHuberSteps = 10;
constexpr double kHuberSigmas = 1.5;
// Beyond what was measured, up to twice as much of it: points that only keep the polynomial from
// turning. Further out they would bend it where it was measured.
constexpr int kTailPoints = 20;
constexpr double kTailReach = 2;
constexpr double kTailWeight = 3e-3;

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

}  // namespace

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

Polynomial ChordOfLineIntegral(std::vector<WaterPoint> points, int most_coefficients,
                               float hardest) {
  const size_t judged = points.size();
  std::vector<double> weights(judged, 1);
  const WaterPoint longest = points.back();
  // The slope at the end, of a curve that cannot turn within the data.
  const double slope =
      std::max(Slope(RobustSolve(points, weights, judged, 2), longest.line_integral),
               longest.water_mm / longest.line_integral);
  const double end =
      std::min(kTailReach * longest.line_integral, ops::kLongestLineIntegral + hardest);
  for (int i = 1; i <= kTailPoints; ++i) {
    const double p = std::lerp(longest.line_integral, end, static_cast<double>(i) / kTailPoints);
    if (p <= longest.line_integral) break;
    points.push_back({longest.water_mm + slope * (p - longest.line_integral), p});
    weights.push_back(kTailWeight);
  }
  Polynomial polynomial;
  for (int coefficients = most_coefficients; coefficients > 0; --coefficients) {
    polynomial = RobustSolve(points, weights, judged, coefficients);
    if (ops::CheckWaterPolynomial({polynomial, {hardest}}).ok()) break;
  }
  return polynomial;
}

double Inverse(const Polynomial& polynomial, double water_mm) {
  double low = 0, high = ops::kLongestLineIntegral;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (Value(polynomial, middle) < water_mm ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace isocenter::calibrate
