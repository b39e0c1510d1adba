#include "kernels/quality/noise_power.h"

#include <gmock/gmock.h>

#include <cmath>

#include "kernels/base/units.h"
#include "kernels/phantom/generator.h"
#include "tests/kernels/quality/made_volume.h"

namespace isocenter::quality {
namespace {

using ::testing::HasSubstr;

constexpr double kSigma = 25;
const VolumeGrid kGrid = CenteredGrid(64, 64, 32, {0.7, 0.7, 1.1});

MadeVolume Noise(uint64_t seed, double cup = 0) {
  phantom::Generator random(seed);
  return {kGrid, [&random, cup](Vec3 p) {
            return 40 + cup * (p.x * p.x + p.y) + kSigma * random.Normal();
          }};
}

TEST(NoisePower, IntegratesToTheVariance) {
  const MadeVolume made = Noise(1, 0.3);  // 150 HU from middle to edge
  for (bool three_dimensional : {false, true}) {
    const auto nps = MeasureNoisePower(
        made.view(), {.size = 48, .slices = 24, .three_dimensional = three_dimensional});
    ASSERT_TRUE(nps.ok()) << nps.status();
    printf("integral %.2f, variance %.2f, true %.2f\n", nps->integral, nps->variance,
           kSigma * kSigma);
    EXPECT_NEAR(nps->integral / nps->variance, 1, 1e-9);
    EXPECT_NEAR(nps->integral, kSigma * kSigma, 0.02 * kSigma * kSigma);
    // White: the same at all frequencies.
    const double level = kSigma * kSigma * 0.7 * 0.7 * (three_dimensional ? 1.1 : 1);
    for (size_t i = 8; i < nps->radial.values.size(); ++i) {
      EXPECT_NEAR(nps->radial.values[i], level, 0.15 * level) << nps->radial.frequencies[i];
    }
  }
}

TEST(NoisePower, OfASmoothedFieldIsItsFilterSquared) {
  const MadeVolume white = Noise(2);
  // [1 2 1] / 4 along x: cos⁴(π f Δ).
  MadeVolume smooth = white;
  for (size_t i = 1; i + 1 < white.voxels.size(); ++i) {
    smooth.voxels[i] = 0.25f * (white.voxels[i - 1] + 2 * white.voxels[i] + white.voxels[i + 1]);
  }
  const auto nps = MeasureNoisePower(smooth.view(), {.size = 48, .slices = 24});
  ASSERT_TRUE(nps.ok());
  EXPECT_NEAR(nps->variance, 0.375 * kSigma * kSigma, 0.03 * 0.375 * kSigma * kSigma);
  // Along fx, averaged over fy; near Nyquist, where little is left, what leaks from the middle is
  // more.
  for (int i : {4, 8, 12, 16}) {
    double mean = 0;
    for (int j = 1; j < nps->ny; ++j) mean += nps->power[j * nps->nx + i] / (nps->ny - 1);
    const double expected = kSigma * kSigma * 0.49 * std::pow(std::cos(kPi * i / 48), 4);
    EXPECT_NEAR(mean, expected, 0.1 * expected) << i;
  }
}

TEST(NoisePower, OfTwoScansForgetsTheObject) {
  const auto edge = [](Vec3 p) { return p.x > 3 ? 500.0 : 0.0; };
  MadeVolume one = Noise(3), two = Noise(4);
  MadeVolume object(kGrid, edge);
  for (size_t i = 0; i < one.voxels.size(); ++i) {
    one.voxels[i] += object.voxels[i];
    two.voxels[i] += object.voxels[i];
  }
  const VolumeView again = two.view();
  const auto nps = MeasureNoisePower(one.view(), {.size = 48, .slices = 24}, &again);
  ASSERT_TRUE(nps.ok());
  EXPECT_NEAR(nps->variance, kSigma * kSigma, 0.02 * kSigma * kSigma);
  EXPECT_GT(MeasureNoisePower(one.view(), {.size = 48, .slices = 24})->variance,
            10 * kSigma * kSigma);
}

TEST(NoisePower, SaysWhatIsWrong) {
  MadeVolume made = Noise(5);
  const auto message = [&](const NoiseBlock& block, const VolumeView* again = nullptr) {
    return std::string(MeasureNoisePower(made.view(), block, again).status().message());
  };
  EXPECT_THAT(message({.size = 8}), HasSubstr("size is 8 voxels; legal is 16 to 256"));
  EXPECT_THAT(message({.slices = 0}), HasSubstr("legal is 1 to 256"));
  EXPECT_THAT(message({.center = {20, 0, 0}, .size = 32}),
              HasSubstr("inside the volume of 64 x 64 x 32"));
  const MadeVolume other(CenteredGrid(64, 64, 31, {1, 1, 1}), [](Vec3) { return 0; });
  const VolumeView view = other.view();
  EXPECT_THAT(message({.size = 32}, &view), HasSubstr("legal is the grid of the first"));
  made.voxels[16 * 64 * 64 + 32 * 64 + 32] = INFINITY;
  EXPECT_THAT(message({.size = 32}), HasSubstr("voxel (32, 32, 16) is inf"));
  EXPECT_THAT(std::string(MeasureNoisePower(other.view(), {.size = 32}).status().message()),
              HasSubstr("variance is 0"));
}

}  // namespace
}  // namespace isocenter::quality
