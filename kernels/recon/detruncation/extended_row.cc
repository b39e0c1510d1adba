#include "kernels/recon/detruncation/extended_row.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/ops/operations.h"
#include "kernels/ops/row_outline.h"

namespace isocenter::recon {
namespace {

/// mean + first x + second (x² - middle), x from the middle of the values: least squares.
struct Fit {
  double mean = 0, first = 0, second = 0, middle = 0;
  double At(double x) const { return mean + first * x + second * (x * x - middle); }
};

Fit FitOf(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  Fit fit{.middle = (n * n - 1) / 12};
  for (size_t j = 0; j < values.size(); ++j) {
    const double x = static_cast<double>(j) - (n - 1) / 2;
    fit.mean += values[j] / n;
    fit.first += values[j] * x / (n * fit.middle);
    fit.second += values[j] * (x * x - fit.middle) / (n * (n * n - 1) * (n * n - 4) / 180);
  }
  return fit;
}

/// square + slope k - curvature k², k pixels beyond an edge.
struct Outline {
  double slope = 0, curvature = 0;
};

Outline EdgeOutline(std::span<const double> squares, double square, double length) {
  const int columns = static_cast<int>(squares.size()), count = ops::CurvaturePixels(columns);
  const double curvature = count < 3 ? 0 : std::max(0.0, -FitOf(squares.first(count)).second);
  double sum = 0, norm = 0;
  for (int k = 1; k <= ops::SlopePixels(columns); ++k) {
    sum += k * (squares[k] - square + curvature * k * k);
    norm += k * k;
  }
  return {std::min({-sum / norm, 0.0, curvature * length - square / length}), curvature};
}

/// Where value + slope k - curvature k² is 0, 1 to `length`.
double EndOf(double value, double slope, double curvature, double length) {
  const double root = std::sqrt(slope * slope + 4 * value * curvature);
  const double top = slope > 0 ? slope + root : 2 * value;
  const double bottom = slope > 0 ? 2 * curvature : root - slope;
  return bottom * length <= top ? length : std::max(1.0, top / bottom);
}

/// `squares` from the edge inwards; `beyond` from the edge outwards.
void Continue(std::span<const double> squares, double square, double length,
              std::span<double> beyond) {
  Outline outline = EdgeOutline(squares, square, length);
  const int columns = static_cast<int>(squares.size()), margin = ops::RowFitMargin(columns);
  const int count = columns - 2 * margin;
  const Fit fit = count < ops::kLeastRowFitPixels ? Fit{} : FitOf(squares.subspan(margin, count));
  if (fit.mean > 0) {
    double missed = 0;
    for (int j = 0; j < count; ++j) {
      missed += std::pow(squares[margin + j] - fit.At(j - (count - 1) / 2.0), 2) / count;
    }
    const double left = std::max(0.0, 1 - missed / std::pow(fit.mean * ops::kRowFitMissed, 2)),
                 share = left * left;
    const double edge = -(columns - 1) / 2.0, curvature = std::max(0.0, -fit.second);
    const double end =
        EndOf(std::max(0.0, fit.At(edge)), -fit.first - 2 * fit.second * edge, curvature, length);
    const double slope = std::min(0.0, curvature * end - square / end);
    outline.slope += share * (slope - outline.slope);
    outline.curvature += share * (curvature - outline.curvature);
  }
  for (size_t i = 0; i < beyond.size(); ++i) {
    const auto k = static_cast<double>(i + 1);
    beyond[i] = std::sqrt(std::max(0.0, square + (outline.slope - outline.curvature * k) * k));
  }
}

}  // namespace

void ExtendRow(std::span<const double> row, std::span<double> extended) {
  const size_t pad = (extended.size() - row.size()) / 2;
  std::copy(row.begin(), row.end(), extended.begin() + pad);
  if (pad == 0) return;
  const auto length = static_cast<double>(row.size() / 2);
  std::vector<double> squares(row.size()), beyond(pad);
  std::transform(row.begin(), row.end(), squares.begin(), [](double p) { return p * p; });
  const double first = std::max(0.0, row.front()), last = std::max(0.0, row.back());
  Continue(squares, first * first, length, beyond);
  std::reverse_copy(beyond.begin(), beyond.end(), extended.begin());
  std::reverse(squares.begin(), squares.end());
  Continue(squares, last * last, length, beyond);
  std::copy(beyond.begin(), beyond.end(), extended.end() - static_cast<int64_t>(pad));
}

}  // namespace isocenter::recon
