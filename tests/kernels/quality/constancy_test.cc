#include "kernels/quality/constancy.h"

#include <gmock/gmock.h>

namespace isocenter::quality {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<Measure> kBaseline = {{"noise_hu", 20, 2}, {"water_hu", 1, 4}};

TEST(Constancy, PassesWithinTolerancesAndFailsBeyond) {
  EXPECT_TRUE(Passed(Compare(kBaseline, std::vector<Measure>{{"noise_hu", 22}, {"water_hu", -3}})));
  const auto verdicts =
      Compare(kBaseline, std::vector<Measure>{{"noise_hu", 23}, {"water_hu", 5}, {"other", 1}});
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_FALSE(verdicts[0].passed());
  EXPECT_NEAR(verdicts[0].deviation(), 1.5, 1e-12);
  EXPECT_TRUE(verdicts[1].passed());
  EXPECT_FALSE(Passed(verdicts));
}

TEST(Constancy, WhatIsNotMeasuredHasNotPassed) {
  const auto verdicts = Compare(kBaseline, std::vector<Measure>{{"noise_hu", 20}});
  EXPECT_FALSE(verdicts[1].passed());
  EXPECT_FALSE(verdicts[1].value.has_value());
  EXPECT_FALSE(Passed(verdicts));
}

// A disc that is gone has 0: it must not pass.
TEST(Constancy, AContrastWithinItsToleranceIsNotJudged) {
  const std::vector<Measure> baseline = {{"cnr_low-10", 0.4, 0.6}, {"cnr_low-30", 1.6, 0.6}};
  const std::vector<Measure> gone = {{"cnr_low-10", 0}, {"cnr_low-30", 0}};
  EXPECT_THAT(WhyNotJudged(baseline[0]),
              AllOf(HasSubstr("it is 0.40 at the baseline"), HasSubstr("tolerance of 0.60"),
                    HasSubstr("--tolerance cnr_low-10=30%")));
  EXPECT_EQ(WhyNotJudged(baseline[1]), "");
  const auto verdicts = Compare(baseline, gone);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].name, "cnr_low-30");
  EXPECT_FALSE(Passed(verdicts));
  std::vector<Measure> closer = {baseline[0]};
  EXPECT_TRUE(Compare(closer, gone).empty());
  EXPECT_FALSE(Passed(Compare(closer, gone)));
  ASSERT_TRUE(SetTolerance("cnr_low-10=30%", closer).ok());
  EXPECT_FALSE(Passed(Compare(closer, gone)));
  EXPECT_TRUE(Passed(Compare(closer, std::vector<Measure>{{"cnr_low-10", 0.3}})));
}

TEST(Constancy, TolerancesAreSetByName) {
  std::vector<Measure> measures = kBaseline;
  EXPECT_TRUE(SetTolerance("noise_hu=25%", measures).ok());
  EXPECT_NEAR(measures[0].tolerance, 5, 1e-12);
  EXPECT_TRUE(SetTolerance("water_hu=1.5", measures).ok());
  EXPECT_NEAR(measures[1].tolerance, 1.5, 1e-12);
  EXPECT_THAT(std::string(SetTolerance("noise=1", measures).message()), HasSubstr("'noise'"));
  for (const char* bad :
       {"noise_hu", "noise_hu=", "noise_hu=x", "noise_hu=-1", "noise_hu=nan", "=3"}) {
    EXPECT_FALSE(SetTolerance(bad, measures).ok()) << bad;
  }
}

TEST(Constancy, MeasuresAreChecked) {
  EXPECT_TRUE(CheckMeasures(kBaseline).ok());
  const auto message = [](const std::vector<Measure>& measures) {
    return std::string(CheckMeasures(measures).message());
  };
  EXPECT_THAT(message({}), HasSubstr("there are 0 measures; legal is 1 to 64"));
  EXPECT_THAT(message({{"Noise", 1, 1}}), HasSubstr("legal is 1 to 48 of a-z"));
  EXPECT_THAT(message({{"a", 1, 1}, {"a", 1, 1}}), HasSubstr("each name once"));
  EXPECT_THAT(message({{"a", std::nan(""), 1}}), HasSubstr("a is nan"));
  EXPECT_THAT(message({{"a", 1, 0}}), HasSubstr("tolerance of a is 0"));
}

}  // namespace
}  // namespace isocenter::quality
