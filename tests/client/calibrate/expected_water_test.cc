// What a tube's voltage says of water.
#include "client/cli/calibrate/expected_water.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isocenter::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

calibrate::Figures FiguresOf(double mu_per_mm, double cupping_hu) {
  return {{"water's attenuation", mu_per_mm, "1/mm"},
          {"water that it is stated for", 160, "mm"},
          {"cupping before", cupping_hu, "HU"}};
}

std::vector<std::string> Judged(double mu_per_mm, double cupping_hu, double kv, double before = 0) {
  calibrate::Figures figures = FiguresOf(mu_per_mm, cupping_hu);
  return JudgeByTube(kv, before, figures);
}

// Of one energy NIST XCOM has 0.0227 /mm at 50 keV and 0.0184 at 80: what comes through 160 mm at
// 90 kV is between, and a higher voltage attenuates less.
TEST(ExpectedWater, IsBetweenTheSoftestAndTheHardestBeam) {
  const auto at_90 = WaterOfTube(90, 160, 0.0222), at_120 = WaterOfTube(120, 160, 0.0205);
  ASSERT_TRUE(at_90 && at_120);
  EXPECT_GT(at_90->least_per_mm, 0.0184);
  EXPECT_LT(at_90->most_per_mm, 0.0245);
  EXPECT_LT(at_120->most_per_mm, at_90->most_per_mm);
  ASSERT_TRUE(at_90->cupping_hu.has_value());
  EXPECT_NEAR(*at_90->cupping_hu, -26, 5);
  EXPECT_FALSE(WaterOfTube(160, 160, 0.02).has_value());
  EXPECT_FALSE(WaterOfTube(0, 160, 0.02).has_value());
}

TEST(ExpectedWater, JudgesWhatWasFound) {
  EXPECT_THAT(Judged(0.0222, -28, 90), IsEmpty());
  calibrate::Figures figures = FiguresOf(0.0222, -28);
  JudgeByTube(90, 0, figures);
  EXPECT_THAT(figures[0].limit, HasSubstr(" to 0.0237, else a warning"));
  // Acrylic behind 0.1 mm of copper.
  EXPECT_THAT(Judged(0.0243, -34, 90),
              ElementsAre(AllOf(HasSubstr("attenuation is 0.0243 /mm; expected at 90 kV is 0.0195"),
                                HasSubstr("is water in the cylinder"))));
  // An offset 0.5 % of air higher than the dark frames'.
  EXPECT_THAT(Judged(0.0212, -83.6, 90),
              ElementsAre(HasSubstr("cupping before is -83.6 HU; a beam of 90 kV")));
  EXPECT_THAT(Judged(0.0243, -34, 0), IsEmpty());
}

TEST(ExpectedWater, HoldsItAgainstTheSetBefore) {
  EXPECT_THAT(Judged(0.0222, -28, 0, 0.0224), IsEmpty());
  EXPECT_THAT(Judged(0.0222, -28, 0, 0.0204),
              ElementsAre(HasSubstr("was 0.0204 in the set that this one goes on from (+8.8 %")));
}

}  // namespace
}  // namespace isocenter::cli
