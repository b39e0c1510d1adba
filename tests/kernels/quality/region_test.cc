#include "kernels/quality/region.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/kernels/quality/made_volume.h"

namespace isocenter::quality {
namespace {

using ::testing::HasSubstr;

const VolumeGrid kGrid = CenteredGrid(64, 64, 16, {1, 1, 2});

TEST(Region, MeansAndDeviationsAreThoseOfItsVoxels) {
  // ±5 on a chessboard: mean 7, deviation 5.
  const MadeVolume made(
      kGrid, [](Vec3 p) { return 7 + 5 * (std::lround(p.x + p.y + 100) % 2 == 0 ? 1 : -1); });
  const auto figures = MeasureRegion(made.view(), {.radius_mm = 10, .half_height_mm = 8});
  ASSERT_TRUE(figures.ok()) << figures.status();
  EXPECT_NEAR(figures->mean, 7, 0.2);
  EXPECT_NEAR(figures->standard_deviation, 5, 0.02);
  EXPECT_NEAR(figures->voxels, 3.1416 * 100 * 8, 60);
}

TEST(Region, SaysWhatIsWrongWithIt) {
  MadeVolume made(kGrid, [](Vec3) { return 0; });
  const auto message = [&](const Rod& rod) {
    return std::string(MeasureRegion(made.view(), rod).status().message());
  };
  EXPECT_THAT(message({.center = {30, 0, 0}, .radius_mm = 5, .half_height_mm = 2}),
              HasSubstr("inside the volume"));
  EXPECT_THAT(message({.radius_mm = 0.5, .half_height_mm = 2}), HasSubstr("legal is 30 or more"));
  EXPECT_THAT(message({.radius_mm = -1, .half_height_mm = 2}), HasSubstr("legal is more than 0"));
  EXPECT_THAT(message({.radius_mm = std::nan(""), .half_height_mm = 2}), HasSubstr("legal"));
  made.voxels[8 * 64 * 64 + 32 * 64 + 32] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(message({.radius_mm = 5, .half_height_mm = 4}),
              HasSubstr("voxel (32, 32, 8) is nan"));
  made.voxels.pop_back();
  const VolumeView wrong{kGrid, {made.voxels.data(), {16, 64, 63}}};
  EXPECT_FALSE(MeasureRegion(wrong, {.radius_mm = 5, .half_height_mm = 2}).ok());
}

TEST(Uniformity, IsThatOfACup) {
  // 0.1 HU for a square millimetre.
  const MadeVolume made(kGrid, [](Vec3 p) { return 0.1 * (p.x * p.x + p.y * p.y); });
  const auto result = MeasureUniformity(made.view(), {.radius_mm = 25, .half_height_mm = 6});
  ASSERT_TRUE(result.ok()) << result.status();
  // The centres of the edges are 22 mm out; the mean of r² in a disc adds the same to all.
  EXPECT_NEAR(result->non_uniformity, 48.4, 1);
  EXPECT_NEAR(result->integral_non_uniformity, 48.4 / (2000 + 48.4), 0.001);
  EXPECT_NEAR(result->cupping(), -48.4, 1);  // its middle is dark
  EXPECT_NEAR(result->gradient_across(), 0, 0.1);
}

TEST(Uniformity, HasTheSignsOfASlope) {
  const MadeVolume made(kGrid, [](Vec3 p) { return 0.2 * p.x - 0.1 * p.y; });
  const auto result = MeasureUniformity(made.view(), {.radius_mm = 25, .half_height_mm = 6});
  ASSERT_TRUE(result.ok()) << result.status();
  // From edge to edge 44 mm.
  EXPECT_NEAR(result->gradient_across(), 8.8, 0.1);
  EXPECT_NEAR(result->gradient_up(), -4.4, 0.1);
  EXPECT_NEAR(result->cupping(), 0, 0.1);
}

TEST(Contrast, IsInUnitsOfTheNoise) {
  EXPECT_NEAR(*ContrastToNoise({.mean = 30}, {.mean = 10, .standard_deviation = 8}), 2.5, 1e-12);
  EXPECT_FALSE(ContrastToNoise({.mean = 30}, {.mean = 10}).ok());
}

TEST(Linearity, IsTheLineThroughInserts) {
  const InsertValue inserts[] = {{-1000, -970}, {0, 10}, {1000, 990}, {500, 520}};
  const auto line = MeasureLinearity(inserts);
  ASSERT_TRUE(line.ok());
  EXPECT_NEAR(line->slope, 2151250.0 / 2187500, 1e-9);
  EXPECT_NEAR(line->intercept, 14.5714, 0.0001);
  EXPECT_NEAR(line->largest_deviation, 13.7143, 0.0001);
  const InsertValue same[] = {{5, 1}, {5, 2}, {5, 3}};
  EXPECT_THAT(std::string(MeasureLinearity(same).status().message()),
              HasSubstr("two values or more"));
}

}  // namespace
}  // namespace isocenter::quality
