#include "kernels/quality/slice_ramp.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "kernels/base/units.h"
#include "kernels/phantom/generator.h"
#include "tests/kernels/quality/made_volume.h"

namespace isocenter::quality {
namespace {

using ::testing::HasSubstr;

const PhantomModule kRamp{.kind = PhantomModule::Kind::kRamp,
                          .name = "ramp",
                          .center = {3, -2, 1},
                          .radius_mm = 0.25,
                          .half_height_mm = 21,
                          .hounsfield = 4000,
                          .along_deg = 90};

constexpr double kSlice = 0.8;

// A thin wire that a Gaussian has blurred: a Gaussian of the distance from it.
MadeVolume Wire(double sigma, double noise, int seed = 11, Vec3 center = kRamp.center) {
  phantom::Generator random(seed);
  const double a = DegreesToRadians(kRampDeg);
  return {CenteredGrid(100, 100, 40, {0.6, 0.6, kSlice}), [&](Vec3 p) {
            const Vec3 from = p - center, along{0, std::cos(a), std::sin(a)};
            const double distance = Norm(from - Dot(from, along) * along);
            return 30 + 800 * std::exp(-distance * distance / (2 * sigma * sigma)) +
                   noise * random.Normal();
          }};
}

TEST(Ramp, HasTheThicknessOfItsBlur) {
  for (const double sigma : {0.7, 1.1}) {
    for (const double noise : {0.0, 20.0}) {
      const MadeVolume made = Wire(sigma, noise);
      const auto ramp = MeasureRamp(made.view(), {}, kRamp);
      ASSERT_TRUE(ramp.ok()) << ramp.status();
      // Above the wire by h, it is h cos 23° away. Across it, 1.5 mm on both sides are averaged.
      const double expected =
          2 * std::sqrt(2 * std::log(2.0)) * sigma / std::cos(DegreesToRadians(kRampDeg));
      printf("sigma %.1f, noise %.0f: %.3f of %.3f mm\n", sigma, noise, ramp->fwhm_mm, expected);
      EXPECT_NEAR(ramp->fwhm_mm, expected, 0.03 * expected);
    }
  }
}

// Of 800 HU.
TEST(Ramp, NoiseDoesNotMoveTheThickness) {
  constexpr int kScans = 12;
  const double quiet = MeasureRamp(Wire(1.1, 0).view(), {}, kRamp)->fwhm_mm;
  for (const double noise : {40.0, 80.0}) {
    double sum = 0;
    for (int seed = 1; seed <= kScans; ++seed) {
      const auto ramp = MeasureRamp(Wire(1.1, noise, seed).view(), {}, kRamp);
      ASSERT_TRUE(ramp.ok()) << ramp.status();
      sum += ramp->fwhm_mm / kScans;
    }
    printf("noise %.0f: %.3f of %.3f mm\n", noise, sum, quiet);
    EXPECT_NEAR(sum, quiet, 0.015 * quiet);
  }
}

// Wherever the slices fall: what the means over bins add is taken out again.
TEST(Ramp, ThicknessesAreRightFromOneSliceOn) {
  constexpr int kPlaces = 8;
  const double a = DegreesToRadians(kRampDeg);
  for (const double width : {1.0, 1.25, 1.5, 2.0, 3.0}) {
    const double fwhm = width * kSlice;
    const double sigma = fwhm / (2 * std::sqrt(2 * std::log(2.0))) * std::cos(a);
    double least = 1e9, most = 0;
    for (int place = 0; place < kPlaces; ++place) {
      PhantomModule ramp = kRamp;
      ramp.center.z += place * kSlice / kPlaces;
      const auto profile = MeasureRamp(Wire(sigma, 0, 1, ramp.center).view(), {}, ramp);
      ASSERT_TRUE(profile.ok()) << profile.status();
      least = std::min(least, profile->fwhm_mm);
      most = std::max(most, profile->fwhm_mm);
    }
    printf("%.2f slices: read %.3f to %.3f\n", width, least / kSlice, most / kSlice);
    EXPECT_GT(least, 0.95 * fwhm);
    EXPECT_LT(most, 1.05 * fwhm);
  }
}

TEST(Ramp, TellsThickerSlices) {
  const MadeVolume made = Wire(1.16, 0);
  EXPECT_GT(MeasureRamp(made.view(), {}, kRamp)->fwhm_mm, 1.04 * 2.3548 * 1.1 / 0.9205);
}

TEST(Ramp, SaysWhatIsWrong) {
  const MadeVolume flat(CenteredGrid(100, 100, 40, {0.6, 0.6, 0.8}), [](Vec3) { return 3; });
  EXPECT_THAT(std::string(MeasureRamp(flat.view(), {}, kRamp).status().message()),
              HasSubstr("legal is a wire that stands out"));
}

TEST(Nodes, AreAsFarApartAsTheyAre) {
  std::vector<PhantomModule> nodes;
  for (int i = 0; i < 4; ++i) {
    nodes.push_back({PhantomModule::Kind::kNode,
                     "node",
                     {i & 1 ? 15.0 : -15.0, i & 2 ? 15.0 : -15.0, 0},
                     1.5,
                     10,
                     i == 2 ? 1000.0 : -1000.0});
  }
  for (const double stretch : {1.0, 1.02}) {
    const MadeVolume made(CenteredGrid(100, 100, 40, {0.6, 0.6, 0.8}), [&](Vec3 p) {
      double value = 10;
      for (const PhantomModule& node : nodes) {
        const double r = std::hypot(p.x - stretch * node.center.x, p.y - node.center.y);
        value += node.hounsfield / (1 + std::exp((r - 1.5) / 0.3));
      }
      return value;
    });
    const auto error = NodeDistanceError(made.view(), {}, nodes);
    ASSERT_TRUE(error.ok()) << error.status();
    EXPECT_NEAR(*error, 30 * (stretch - 1), 0.03);
  }
}

}  // namespace
}  // namespace isocenter::quality
