#include "kernels/reference/cut_row.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/base/units.h"

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

/// The coefficient of j² of the parabola through squares of `count` pixels: normal equations,
/// Cramer's rule. 0 of fewer than three.
double QuadraticCoefficient(const Inwards& pixel, int count) {
  if (count < 3) return 0;
  double m[3][3] = {}, right[3] = {};
  for (int j = 0; j < count; ++j) {
    const double x = static_cast<double>(j) / (count - 1);
    const double powers[] = {1, x, x * x};
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) m[a][b] += powers[a] * powers[b];
      right[a] += powers[a] * pixel(j) * pixel(j);
    }
  }
  const double whole = Determinant(m);
  for (int a = 0; a < 3; ++a) m[a][2] = right[a];
  return Determinant(m) / whole / ((count - 1.0) * (count - 1.0));
}

struct Parabola {
  double square, slope, curvature;
};

Parabola FitCylinder(const Inwards& pixel, int columns, int length) {
  const double edge = std::max(0.0, pixel(0)), square = edge * edge;
  const double curvature =
      std::max(0.0, -QuadraticCoefficient(pixel, ops::CurvaturePixels(columns)));
  double sum = 0, squares = 0;
  for (int k = 1; k <= ops::SlopePixels(columns); ++k) {
    sum += k * (pixel(k) * pixel(k) - square + curvature * k * k);
    squares += k * k;
  }
  return {square, std::min({-sum / squares, 0.0, curvature * length - square / length}), curvature};
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
    beyond[k - 1] = std::sqrt(std::max(0.0, fit.square + fit.slope * k - fit.curvature * k * k));
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
