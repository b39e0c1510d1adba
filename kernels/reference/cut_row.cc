#include "kernels/reference/cut_row.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/base/units.h"
#include "kernels/ops/row_outline.h"

namespace isocenter::reference {
namespace {

/// Pixel j from an edge inwards.
using Inwards = std::function<double(int)>;

double MirroredPixel(const Inwards& pixel, int k, int length) {
  const double fade = (1 + std::cos(kPi * k / (length + 1))) / 2;
  return std::max(0.0, 2 * pixel(0) - pixel(k)) * fade;
}

double Determinant(const double (&m)[3][3]) {
  return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
         m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
         m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

/// value + slope·k - curvature·k², k pixels outwards from an edge.
struct Parabola {
  double value = 0, slope = 0, curvature = 0;
  double At(double k) const { return value + slope * k - curvature * k * k; }
};

/// Through the squares of `count` pixels, 3 at least, from the pixel `first` on: normal equations,
/// Cramer's rule.
Parabola LeastSquares(const Inwards& pixel, int first, int count) {
  double m[3][3] = {}, right[3] = {}, solution[3];
  const double scale = first + count - 1;
  for (int j = first; j < first + count; ++j) {
    const double x = j / scale;
    const double powers[] = {1, x, x * x};
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) m[a][b] += powers[a] * powers[b];
      right[a] += powers[a] * pixel(j) * pixel(j);
    }
  }
  const double whole = Determinant(m);
  for (int column = 0; column < 3; ++column) {
    double replaced[3][3];
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) replaced[a][b] = b == column ? right[a] : m[a][b];
    }
    solution[column] = Determinant(replaced) / whole;
  }
  return {solution[0], -solution[1] / scale, -solution[2] / (scale * scale)};
}

Parabola FitEdge(const Inwards& pixel, int columns, int length) {
  const double edge = std::max(0.0, pixel(0)), square = edge * edge;
  const int count = ops::CurvaturePixels(columns);
  const double curvature = count < 3 ? 0 : std::max(0.0, LeastSquares(pixel, 0, count).curvature);
  double sum = 0, squares = 0;
  for (int k = 1; k <= ops::SlopePixels(columns); ++k) {
    sum += k * (pixel(k) * pixel(k) - square + curvature * k * k);
    squares += k * k;
  }
  return {square, std::min({-sum / squares, 0.0, curvature * length - square / length}), curvature};
}

/// The row's own parabola, and how much of it is taken.
struct RowFit {
  Parabola outline;
  double share = 0;
};

/// Pixels beyond the edge at which `outline` is 0.
double Root(const Parabola& outline, int length) {
  const double value = std::max(0.0, outline.value), curvature = std::max(0.0, outline.curvature);
  const double b = outline.slope, root = std::sqrt(b * b + 4 * value * curvature);
  // Of the two forms that which takes no difference of like numbers.
  const double top = b > 0 ? b + root : 2 * value, bottom = b > 0 ? 2 * curvature : root - b;
  return bottom * length <= top ? length : std::max(1.0, top / bottom);
}

RowFit FitRow(const Inwards& pixel, int columns, int length) {
  const int margin = ops::RowFitMargin(columns), count = columns - 2 * margin;
  if (count < ops::kLeastRowFitPixels) return {};
  const Parabola through = LeastSquares(pixel, margin, count);
  double missed = 0, mean = 0;
  for (int j = margin; j < margin + count; ++j) {
    const double square = pixel(j) * pixel(j), difference = square - through.At(-j);
    missed += difference * difference / count;
    mean += square / count;
  }
  if (mean <= 0) return {};
  const double edge = std::max(0.0, pixel(0)), square = edge * edge;
  const double curvature = std::max(0.0, through.curvature), root = Root(through, length);
  const double left =
      std::max(0.0, 1 - missed / (mean * mean) / (ops::kRowFitMissed * ops::kRowFitMissed));
  return {{square, std::min(0.0, curvature * root - square / root), curvature}, left * left};
}

Parabola FitCylinder(const Inwards& pixel, int columns, int length) {
  const Parabola edge = FitEdge(pixel, columns, length);
  const RowFit row = FitRow(pixel, columns, length);
  const auto mean = [&](double a, double b) { return (1 - row.share) * a + row.share * b; };
  return {edge.value, mean(edge.slope, row.outline.slope),
          mean(edge.curvature, row.outline.curvature)};
}

/// What lies beyond an edge, from it outwards.
std::vector<double> Extension(const Inwards& pixel, const ops::RampFilterSpec& spec) {
  const int length = ops::ExtensionLength(spec);
  std::vector<double> beyond(length);
  if (length == 0) return beyond;
  if (spec.truncation == ops::Truncation::kMirror) {
    for (int k = 1; k <= length; ++k) beyond[k - 1] = MirroredPixel(pixel, k, length);
    return beyond;
  }
  const Parabola fit = FitCylinder(pixel, spec.columns, length);
  for (int k = 1; k <= length; ++k) {
    beyond[k - 1] = std::sqrt(std::max(0.0, fit.At(k)));
  }
  return beyond;
}

}  // namespace

std::vector<double> PreparedRow(std::span<const double> pixels, const ops::RampFilterSpec& spec) {
  const int n = spec.columns;
  if (spec.truncation == ops::Truncation::kAtract) {
    std::vector<double> second(n, 0.0);
    for (int u = 1; u + 1 < n; ++u) second[u] = pixels[u - 1] - 2 * pixels[u] + pixels[u + 1];
    return second;
  }
  std::vector<double> row = Extension([&](int j) { return pixels[j]; }, spec);
  const std::vector<double> right = Extension([&](int j) { return pixels[n - 1 - j]; }, spec);
  std::reverse(row.begin(), row.end());
  row.insert(row.end(), pixels.begin(), pixels.end());
  row.insert(row.end(), right.begin(), right.end());
  return row;
}

}  // namespace isocenter::reference
