#include "kernels/quality/constancy.h"

#include <gmock/gmock.h>

namespace isocenter::quality {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
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

// A disc that has lost nine tenths of its contrast must not pass.
TEST(Constancy, AContrastThatMayLoseHalfIsNotJudged) {
  const std::vector<Measure> baseline = {{"cnr_low-10", 0.65, 0.6}, {"cnr_low-30", 1.6, 0.6}};
  const std::vector<Measure> lost = {{"cnr_low-10", 0.065}, {"cnr_low-30", 0.8}};
  EXPECT_THAT(WhyNotJudged(baseline[0]),
              AllOf(HasSubstr("it is 0.65 at the baseline"), HasSubstr("tolerance of 0.60"),
                    HasSubstr("legal for a figure that is judged is 1.20 or more"),
                    HasSubstr("--tolerance cnr_low-10=30%")));
  EXPECT_EQ(WhyNotJudged(baseline[1]), "");
  const auto verdicts = Compare(baseline, lost);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].name, "cnr_low-30");
  EXPECT_FALSE(Passed(verdicts));
  std::vector<Measure> closer = {baseline[0]};
  EXPECT_TRUE(Compare(closer, lost).empty());
  EXPECT_FALSE(Passed(Compare(closer, lost)));
  ASSERT_TRUE(SetTolerance("cnr_low-10=30%", closer).ok());
  EXPECT_FALSE(Passed(Compare(closer, lost)));
  EXPECT_TRUE(Passed(Compare(closer, std::vector<Measure>{{"cnr_low-10", 0.5}})));
}

// Whatever is judged by the tolerances of docs/qa.md would not pass at half of its contrast.
TEST(Constancy, NoJudgedContrastPassesAtHalf) {
  PhantomStudy study;
  for (int i = 1; i < 60; ++i) {
    study.low_contrasts = {{.name = "low-30", .cnr = 0.1 * i}};
    const std::vector<Measure> baseline = MeasuresOf(study);
    study.low_contrasts.front().cnr *= 0.49;
    EXPECT_FALSE(Passed(Compare(baseline, MeasuresOf(study)))) << i;
  }
}

// 4 HU too dark in the middle at the baseline and 4 HU too bright now are the same without a sign.
TEST(Constancy, CuppingAndGradientsHaveTheirSigns) {
  PhantomStudy study;
  study.uniformity = Uniformity{.center = {.mean = -4.2}, .non_uniformity = 4.2};
  const std::vector<Measure> baseline = MeasuresOf(study);
  study.uniformity->center.mean = 4.3;
  study.uniformity->non_uniformity = 4.3;
  std::vector<std::string> failed;
  for (const Verdict& verdict : Compare(baseline, MeasuresOf(study))) {
    if (!verdict.passed()) failed.push_back(verdict.name);
  }
  EXPECT_THAT(failed, ElementsAre("cupping_hu"));
  study.uniformity = Uniformity{.edge_means = {3, 0, -3, 0}, .non_uniformity = 3};
  const std::vector<Measure> right = MeasuresOf(study);
  study.uniformity = Uniformity{.edge_means = {-3, 0, 3, 0}, .non_uniformity = 3};
  failed.clear();
  for (const Verdict& verdict : Compare(right, MeasuresOf(study))) {
    if (!verdict.passed()) failed.push_back(verdict.name);
  }
  EXPECT_THAT(failed, ElementsAre("gradient_x_hu"));
}

// At 13 HU of noise of 1 mm voxels, gradients of two good scans differed by 5 HU. What counts is by
// how much means of regions differ, and not the noise of a voxel.
TEST(Constancy, CuppingAndGradientsWithinTheNoisePass) {
  PhantomStudy study;
  study.uniformity = Uniformity{.center = {.mean = 0, .standard_deviation = 13},
                                .edge_means = {1.8, 0, -1.9, 0},
                                .mean_error = 1};
  const std::vector<Measure> baseline = MeasuresOf(study);
  study.uniformity->edge_means[0] = -0.7;
  study.uniformity->edge_means[2] = 0.6;
  EXPECT_TRUE(Passed(Compare(baseline, MeasuresOf(study))));
  study.uniformity->edge_means[0] = -10;
  study.uniformity->edge_means[2] = 2;
  EXPECT_FALSE(Passed(Compare(baseline, MeasuresOf(study))));
  study.uniformity = Uniformity{.center = {.standard_deviation = 24}, .mean_error = 0.2};
  const std::vector<Measure> quiet = MeasuresOf(study);
  study.uniformity->center.mean = -2.5;
  EXPECT_FALSE(Passed(Compare(quiet, MeasuresOf(study))));
}

// An arc that is wrong by 1 %.
TEST(Constancy, DistancesOfAnotherArcDoNotPass) {
  PhantomStudy study;
  study.distance_error_mm = 0.053;
  const std::vector<Measure> baseline = MeasuresOf(study);
  study.distance_error_mm = 0.485;
  EXPECT_FALSE(Passed(Compare(baseline, MeasuresOf(study))));
}

// A baseline that was made before a figure was measured judges what it has, and that is said.
TEST(Constancy, WhatTheBaselineDoesNotHaveIsNamed) {
  const std::vector<Measure> now = {{"noise_hu", 20}, {"cupping_hu", 9}, {"water_hu", 1}};
  EXPECT_TRUE(Passed(Compare(kBaseline, now)));
  EXPECT_THAT(NotInBaseline(kBaseline, now), ElementsAre("cupping_hu"));
}

TEST(Constancy, TolerancesAreSetByName) {
  std::vector<Measure> measures = kBaseline;
  EXPECT_TRUE(SetTolerance("noise_hu=25%", measures).ok());
  EXPECT_NEAR(measures[0].tolerance, 5, 1e-12);
  EXPECT_TRUE(SetTolerance("water_hu=1.5", measures).ok());
  EXPECT_NEAR(measures[1].tolerance, 1.5, 1e-12);
  EXPECT_THAT(std::string(SetTolerance("noise=1", measures).message()), HasSubstr("'noise'"));
  for (const char* bad : {"noise_hu", "noise_hu=", "noise_hu=x", "noise_hu=-1", "noise_hu=nan",
                          "noise_hu=101%", "=3"}) {
    EXPECT_FALSE(SetTolerance(bad, measures).ok()) << bad;
  }
  EXPECT_THAT(std::string(SetTolerance("noise_hu=1000%", measures).message()),
              HasSubstr("'noise_hu=1000%'; legal is NAME=VALUE, above 0, or NAME=PERCENT%, above 0 "
                        "and up to 100"));
  // Ten times 1.5, of a figure that is less.
  EXPECT_THAT(std::string(SetTolerance("water_hu=4000", measures).message()),
              HasSubstr("the tolerance of water_hu is 4000, which nothing leaves; legal is at most "
                        "15,"));
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
