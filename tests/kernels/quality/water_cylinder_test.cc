// A cylinder of water whose errors are known.
#include "kernels/quality/water_cylinder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/quality/made_volume.h"

namespace isocenter::quality {
namespace {

using ::testing::HasSubstr;

constexpr double kDiameter = 160, kX = 20, kY = -15;

/// A wall of 4 mm, air, and a table of 60 x 10 mm below.
double Scan(Vec3 at, double water_hu, double cup_hu, double shade_hu) {
  const double x = at.x - kX, y = at.y - kY, r = std::hypot(x, y) / (kDiameter / 2);
  if (r <= 1) return water_hu - cup_hu * r * r + shade_hu * x / (kDiameter / 2);
  if (r <= 1.05) return 120;
  if (std::abs(x) < 30 && at.y > 100 && at.y < 110) return 300;
  return -990;
}

const VolumeGrid kGrid = CenteredGrid(250, 250, 9, {1, 1, 1});

TEST(WaterCylinder, ErrorsAreFound) {
  const auto measure = [](double water, double cup, double shade) {
    const MadeVolume made(kGrid, [=](Vec3 at) { return Scan(at, water, cup, shade); });
    return *MeasureWaterCylinder(made.view(), kDiameter);
  };
  const WaterCylinder good = measure(0, 0, 0);
  EXPECT_NEAR(good.x_mm, kX, 0.2);
  EXPECT_NEAR(good.y_mm, kY, 0.2);
  EXPECT_NEAR(good.seen_mm, 168, 1);
  EXPECT_EQ(good.water_hu, 0);
  EXPECT_EQ(good.cupping_hu, 0);
  EXPECT_EQ(good.border_hu, 0);
  EXPECT_EQ(good.noise_hu, 0);
  EXPECT_EQ(good.air_hu, -990);  // whatever the table is
  ASSERT_FALSE(good.profile.empty());
  EXPECT_EQ(good.profile.front().mean_hu, 0);

  EXPECT_NEAR(measure(37, 0, 0).water_hu, 37, 1e-3);
  // 20 HU of a bowl: at 0.88 of nine tenths of the radius, where the regions are.
  const WaterCylinder cupped = measure(0, -20, 0);
  EXPECT_NEAR(cupped.cupping_hu, -20 * 0.63, 0.5);
  EXPECT_NEAR(cupped.border_hu, 20 * 0.63, 0.5);
  const WaterCylinder shaded = measure(0, 0, 15);
  EXPECT_NEAR(shaded.cupping_hu, 0, 0.3);
  EXPECT_NEAR(std::abs(shaded.border_hu), 15 * 0.79, 0.5);
}

TEST(WaterCylinder, AnotherObjectIsRefused) {
  const auto refusal = [](double diameter_mm, double (*value)(Vec3)) {
    const MadeVolume made(kGrid, value);
    return MeasureWaterCylinder(made.view(), diameter_mm).status();
  };
  const auto water = [](Vec3 at) { return Scan(at, 0, 0, 0); };
  const absl::Status narrow = refusal(190, water);
  EXPECT_TRUE(absl::IsFailedPrecondition(narrow)) << narrow;
  EXPECT_THAT(std::string(narrow.message()), HasSubstr("legal is 184.3 to 222.0 mm"));
  EXPECT_FALSE(refusal(120, water).ok());
  EXPECT_THAT(std::string(refusal(160, [](Vec3) { return -1000.0; }).message()),
              HasSubstr("has a diameter of 0.0 mm"));
  EXPECT_THAT(std::string(refusal(240, [](Vec3) { return 0.0; }).message()),
              HasSubstr("voxels of air are beside the cylinder"));
  EXPECT_FALSE(refusal(160, [](Vec3 at) {
                 return std::hypot(at.x - kX, at.y - kY) < 2
                            ? std::numeric_limits<double>::quiet_NaN()
                            : Scan(at, 0, 0, 0);
               }).ok());
}

}  // namespace
}  // namespace isocenter::quality
