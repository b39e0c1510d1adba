#include "kernels/quality/limits.h"

#include <gmock/gmock.h>

#include <cmath>

namespace isocenter::quality {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kNames = {"noise_hu", "water_hu", "mtf50_edge_per_mm"};

TEST(Limits, JudgeBothSidesAndWhatIsNotMeasured) {
  const std::vector<Limit> limits = {
      {"water_hu", -4, 4}, {"noise_hu", {}, 30}, {"mtf50_edge_per_mm", 0.3, {}}};
  ASSERT_TRUE(CheckLimits(limits, kNames).ok());
  const auto passed = [&](std::vector<Measure> measures) {
    std::vector<bool> list;
    for (const LimitVerdict& verdict : Judge(limits, measures)) list.push_back(verdict.passed());
    return list;
  };
  using List = std::vector<bool>;
  EXPECT_EQ(passed({{"water_hu", -4}, {"noise_hu", 30}, {"mtf50_edge_per_mm", 0.3}}),
            (List{true, true, true}));
  EXPECT_EQ(passed({{"water_hu", -4.1}, {"noise_hu", 30.1}, {"mtf50_edge_per_mm", 0.29}}),
            (List{false, false, false}));
  EXPECT_EQ(passed({{"water_hu", 4.1}, {"noise_hu", -99}}), (List{false, true, false}));
}

TEST(Limits, SayWhatIsWrong) {
  const auto message = [](const std::vector<Limit>& limits) {
    return std::string(CheckLimits(limits, kNames).message());
  };
  EXPECT_THAT(message({}), HasSubstr("there are 0 limits; legal is 1 to 64"));
  EXPECT_THAT(message({{"nois_hu", 1, 2}}), HasSubstr("did you mean noise_hu?"));
  EXPECT_THAT(message({{"noise_hu", 1, 2}, {"noise_hu", 1, 2}}), HasSubstr("two limits"));
  EXPECT_THAT(message({{"noise_hu"}}), HasSubstr("neither min nor max"));
  EXPECT_THAT(message({{"noise_hu", 2, 1}}), HasSubstr("the limits of noise_hu are 2 to 1"));
  EXPECT_THAT(message({{"noise_hu", std::nan(""), 1}}), HasSubstr("legal are finite numbers"));
  EXPECT_THAT(message({{"noise_hu", {}, INFINITY}}), HasSubstr("legal are finite numbers"));
}

}  // namespace
}  // namespace isocenter::quality
