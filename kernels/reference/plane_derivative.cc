#include "kernels/reference/plane_derivative.h"

#include <array>
#include <cmath>

namespace isocenter::reference {
namespace {

constexpr double kStepPx = 0.25, kOffsetStepPx = 0.5, kSigmas = 4;

struct Rays {
  std::array<double, 9> inverse;  // of the matrix's left part
  double determinant;             // of `inverse`
};

Rays RaysOf(const ProjectionMatrix& p) {
  const Vec3 a{p(0, 0), p(0, 1), p(0, 2)}, b{p(1, 0), p(1, 1), p(1, 2)},
      c{p(2, 0), p(2, 1), p(2, 2)};
  const double determinant = Dot(a, Cross(b, c));
  const Vec3 x = (1 / determinant) * Cross(b, c), y = (1 / determinant) * Cross(c, a),
             z = (1 / determinant) * Cross(a, b);
  return {{x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z}, 1 / determinant};
}

// Line integrals over the length of their rays, for directions of depth 1.
double Weighted(const HostView3<const float>& view, const Rays& rays, double u, double v) {
  const double fu = std::floor(u), fv = std::floor(v), du = u - fu, dv = v - fv;
  const auto at = [&](double column, double row) -> double {
    if (column < 0 || row < 0 || column >= static_cast<double>(view.shape().fast) ||
        row >= static_cast<double>(view.shape().middle)) {
      return 0;
    }
    const auto& m = rays.inverse;
    const Vec3 ray{m[0] * column + m[1] * row + m[2], m[3] * column + m[4] * row + m[5],
                   m[6] * column + m[7] * row + m[8]};
    return view(0, static_cast<int64_t>(row), static_cast<int64_t>(column)) / Norm(ray);
  };
  return (1 - dv) * ((1 - du) * at(fu, fv) + du * at(fu + 1, fv)) +
         dv * ((1 - du) * at(fu, fv + 1) + du * at(fu + 1, fv + 1));
}

}  // namespace

double PlaneDerivative(HostView3<const float> view, const ProjectionMatrix& matrix, Vec3 normal,
                       double sigma_px) {
  const Rays rays = RaysOf(matrix);
  const auto& m = rays.inverse;
  // The plane's line: a·u + b·v + c = 0.
  const double a = m[0] * normal.x + m[3] * normal.y + m[6] * normal.z;
  const double b = m[1] * normal.x + m[4] * normal.y + m[7] * normal.z;
  const double c = m[2] * normal.x + m[5] * normal.y + m[8] * normal.z;
  const double q = std::hypot(a, b);
  const double middle_u = static_cast<double>(view.shape().fast - 1) / 2;
  const double middle_v = static_cast<double>(view.shape().middle - 1) / 2;
  const double away = (a * middle_u + b * middle_v + c) / q;
  const double half = std::hypot(middle_u, middle_v) + 2;
  const auto integral = [&](double offset) {
    const double u = middle_u + (offset - away) * a / q, v = middle_v + (offset - away) * b / q;
    double sum = 0;
    for (double t = -half; t <= half; t += kStepPx) {
      sum += Weighted(view, rays, u - t * b / q, v + t * a / q);
    }
    return sum * kStepPx;
  };
  double sum = 0, weights = 0;
  const int reach = static_cast<int>(std::ceil(kSigmas * sigma_px / kOffsetStepPx));
  for (int k = -reach; k <= reach; ++k) {
    const double offset = k * kOffsetStepPx;
    const double weight = k == 0 ? 1 : std::exp(-offset * offset / (2 * sigma_px * sigma_px));
    sum += weight * (integral(offset + 0.5) - integral(offset - 0.5));
    weights += weight;
  }
  return std::abs(rays.determinant) / (q * q) * sum / weights;
}

}  // namespace isocenter::reference
