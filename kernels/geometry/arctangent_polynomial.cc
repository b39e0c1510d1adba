#include "kernels/geometry/arctangent_polynomial.h"

#include <cmath>

#include "kernels/base/units.h"

namespace isocenter {

std::vector<double> ArctangentPolynomial(double largest, int terms) {
  // Extended precision: powers cancel in the Chebyshev polynomials.
  using Real = long double;
  const Real end = Real{largest} * largest;
  std::vector<Real> value(terms);
  for (int k = 0; k < terms; ++k) {
    const Real u = end / 2 * (1 + std::cos(Real{kPi} * (k + 0.5L) / terms));
    value[k] = std::atan(std::sqrt(u)) / std::sqrt(u);
  }
  std::vector<Real> sum(terms), before(terms), power(terms);  // of u/end
  power[0] = 1;
  for (int degree = 0; degree < terms; ++degree) {
    Real coefficient = 0;
    for (int k = 0; k < terms; ++k) {
      coefficient += value[k] * std::cos(Real{kPi} * degree * (k + 0.5L) / terms);
    }
    coefficient *= (degree == 0 ? 1.0L : 2.0L) / terms;
    for (int i = 0; i <= degree; ++i) sum[i] += coefficient * power[i];
    // T(d+1) = 2 (2u/end - 1) T(d) - T(d-1); the first step has the factor 1.
    std::vector<Real> next(terms);
    const Real factor = degree == 0 ? 1 : 2;
    for (int i = 0; i < terms; ++i) {
      next[i] = -factor * power[i] - (degree == 0 ? 0 : before[i]);
      if (i > 0) next[i] += 2 * factor * power[i - 1];
    }
    before = power;
    power = next;
  }
  std::vector<double> coefficients(terms);
  Real scale = 1;
  for (int i = 0; i < terms; ++i, scale /= end) {
    coefficients[i] = static_cast<double>(sum[i] * scale);
  }
  return coefficients;
}

}  // namespace isocenter
