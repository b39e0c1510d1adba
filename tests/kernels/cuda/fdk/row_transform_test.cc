#include "kernels/cuda/fdk/row_transform.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <numeric>

#include "kernels/base/units.h"

namespace isocenter::cuda {
namespace {

TEST(RowTransform, IsTheProductOfItsRadicesAndLongEnough) {
  for (int least = 1; least <= 20000; least += least < 100 ? 1 : 97) {
    const RowTransform transform = ChooseRowTransform(least);
    ASSERT_GE(transform.n, least);
    ASSERT_LE(transform.n, std::max(2, 2 * least));
    ASSERT_EQ(transform.n % 2, 0);
    ASSERT_EQ(std::accumulate(transform.radix, transform.radix + transform.passes, 1,
                              std::multiplies<>()),
              transform.n);
  }
  // Rows of 1248 pixels: three passes of 8 and one of 5, not the five of 2500.
  const RowTransform panel = ChooseRowTransform(2 * 1248);
  EXPECT_EQ(panel.n, 2560);
  EXPECT_EQ(panel.passes, 4);
  EXPECT_TRUE(panel.fits_shared_memory());
  EXPECT_FALSE(ChooseRowTransform(4 * 8192).fits_shared_memory());
}

// What the kernel's passes do, term by term: the result must lie where FrequencyOrder says.
TEST(RowTransform, PassesLeaveFrequenciesInTheStatedOrder) {
  using Complex = std::complex<double>;
  for (const int least : {1, 2, 6, 30, 48, 96, 100, 250}) {
    const RowTransform transform = ChooseRowTransform(least);
    std::vector<Complex> input(transform.n);
    for (int i = 0; i < transform.n; ++i) input[i] = {std::sin(i * i + 1.0), std::cos(3.0 * i)};
    std::vector<Complex> values = input;
    int length = transform.n;
    for (int pass = 0; pass < transform.passes; ++pass) {
      const int radix = transform.radix[pass], part = length / radix;
      for (int b = 0; b < transform.n / radix; ++b) {
        const int j = b % part, base = b / part * length + j;
        std::vector<Complex> in(radix);
        for (int k = 0; k < radix; ++k) in[k] = values[base + k * part];
        for (int q = 0; q < radix; ++q) {
          Complex sum = 0;
          for (int k = 0; k < radix; ++k) sum += in[k] * std::polar(1.0, -2 * kPi * k * q / radix);
          values[base + q * part] = sum * std::polar(1.0, -2 * kPi * j * q / length);
        }
      }
      length = part;
    }
    const std::vector<int> order = FrequencyOrder(transform);
    for (int position = 0; position < transform.n; ++position) {
      Complex expected = 0;
      for (int t = 0; t < transform.n; ++t) {
        expected += input[t] * std::polar(1.0, -2 * kPi * t * order[position] / transform.n);
      }
      ASSERT_LT(std::abs(values[position] - expected), 1e-9) << transform.n << " " << position;
    }
  }
}

}  // namespace
}  // namespace isocenter::cuda
