#include "kernels/geometry/arctangent_polynomial.h"

#include <gtest/gtest.h>

#include <cmath>

namespace isocenter {
namespace {

double Largest(double end, int terms) {
  const std::vector<double> c = ArctangentPolynomial(end, terms);
  double largest = 0;
  for (int i = -1000; i <= 1000; ++i) {
    const double r = end * i / 1000;
    double sum = 0;
    for (int k = terms - 1; k >= 0; --k) sum = sum * r * r + c[k];
    largest = std::max(largest, std::abs(r * sum - std::atan(r)));
  }
  return largest;
}

TEST(ArctangentPolynomial, ConvergesAsItsHeaderSays) {
  EXPECT_LT(Largest(0.75, 9), 3e-9);
  EXPECT_LT(Largest(0.75, 16), 1e-15);
  EXPECT_LT(Largest(0.4, 9), 1e-12);
  // Fewer terms are worse: it is the polynomial that is measured.
  EXPECT_GT(Largest(0.75, 4), 1e-6);
}

}  // namespace
}  // namespace isocenter
