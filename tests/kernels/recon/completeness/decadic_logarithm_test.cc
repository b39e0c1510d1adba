#include "kernels/recon/completeness/decadic_logarithm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A head of water with a shell of bone and noise, with a lung of such a share of its radius, of
/// line integrals that are `factor` times what they should be.
std::string Told(double factor, double lung = 0, double noise_hu = 30,
                 PixelType type = PixelType::kFloat32LineIntegrals) {
  constexpr int kSize = 40;
  std::vector<float> hu;
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, noise_hu);
  for (int k = 0; k < kSize; ++k) {
    for (int j = 0; j < kSize; ++j) {
      for (int i = 0; i < kSize; ++i) {
        const double r = std::hypot(i - 19.5, j - 19.5, k - 19.5);
        const double true_hu = r > 17 ? -1000 : r > 16 ? 900 : r < lung * 16 ? -750 : 30;
        hu.push_back(static_cast<float>((1000 + true_hu + noise(random)) * factor - 1000));
      }
    }
  }
  return DecadicLogarithmText({hu.data(), Shape3{kSize, kSize, kSize}}, type).value_or("");
}

TEST(DecadicLogarithm, IsToldByWater) {
  EXPECT_THAT(Told(1 / std::log(10)), HasSubstr("legal are natural ones, ln(I0 / I)"));
  EXPECT_THAT(Told(1 / std::log(10), 0.6), HasSubstr("decadic logarithms"));
  EXPECT_THAT(Told(1 / std::log(10), 0, 150), HasSubstr("decadic logarithms"));
}

TEST(DecadicLogarithm, OfCountsIsASquareRootOrATable) {
  for (const double power : {0.5, 0.45}) {
    EXPECT_THAT(Told(power, 0, 30, PixelType::kUint16Counts),
                HasSubstr("counts that went through a square root or the table of a display"));
  }
  EXPECT_THAT(Told(1, 0.6, 30, PixelType::kUint16Counts), IsEmpty());
}

TEST(DecadicLogarithm, IsNotWhatIsRightOrEmpty) {
  for (const double lung : {0.0, 0.6, 0.9}) EXPECT_THAT(Told(1, lung), IsEmpty()) << lung;
  EXPECT_THAT(Told(1, 0, 200), IsEmpty());
  EXPECT_THAT(Told(0.8), IsEmpty());
  EXPECT_THAT(Told(0), IsEmpty());
}

}  // namespace
}  // namespace isocenter::recon
