#include "tests/bench/fanbeam/noise_power.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "kernels/base/units.h"

namespace isocenter::bench {
namespace {

std::vector<double> White() {
  std::mt19937 random(7);
  std::vector<double> pixels(kRegionValues);
  for (double& pixel : pixels) pixel = static_cast<double>(random()) / 4294967296.0;
  return pixels;
}

TEST(NoisePower, SumsToTheSquareOfTheFluctuation) {
  const std::vector<double> pixels = White(), power = NoisePower(pixels);
  EXPECT_NEAR(std::accumulate(power.begin(), power.end(), 0.0),
              kRegionValues * RegionVariance(pixels), 1e-9);
  // Uniform in [0, 1).
  EXPECT_NEAR(RegionVariance(pixels), 1.0 / 12, 0.005);
  EXPECT_NEAR(power[0], 0, 1e-20);
}

TEST(NoisePower, AWaveIsAtItsFrequency) {
  std::vector<double> pixels;
  for (int y = 0; y < kRegionPixels; ++y) {
    for (int x = 0; x < kRegionPixels; ++x)
      pixels.push_back(std::cos(2 * kPi * (3 * x - 4 * y) / 32));
  }
  const std::vector<double> power = NoisePower(pixels);
  // (3, -4) and (-3, 4), l slowest: half of the square each.
  EXPECT_NEAR(power[28 * 32 + 3], kRegionValues / 4.0, 1e-6);
  EXPECT_NEAR(power[4 * 32 + 29], kRegionValues / 4.0, 1e-6);
  const std::vector<double> radial = RadialNoisePower(power);
  EXPECT_GT(radial[5], 1);
  EXPECT_NEAR(radial[4] + radial[6], 0, 1e-9);
  EXPECT_NEAR(HighestFrequency(radial), 5.9, 1e-9);
}

TEST(NoisePower, RegionsAreWhereTheyAreSaidToBe) {
  constexpr int kSize = 1000;  // 2 pixels for each millimeter
  std::vector<float> image(kSize * kSize);
  for (int y = 0; y < kSize; ++y) {
    for (int x = 0; x < kSize; ++x) image[y * kSize + x] = static_cast<float>(x + 10000 * y);
  }
  const std::vector<double> second = RegionOf(image, kSize, 1);  // at (45, 45)
  ASSERT_EQ(second.size(), kRegionValues);
  EXPECT_EQ(second.front(), 574 + 10000.0 * 574);
  EXPECT_EQ(second.back(), 605 + 10000.0 * 605);
}

}  // namespace
}  // namespace isocenter::bench
