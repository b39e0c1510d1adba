#include "kernels/geometry/phases/phase_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace isocenter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(PhaseWeight, IsOneInTheMiddleHalfAtTheEdgeAndZeroBeyond) {
  const PhaseWindow window{.centre = 0.4, .width = 0.2};
  EXPECT_EQ(PhaseWeight(0.4, window), 1);
  EXPECT_EQ(PhaseWeight(0.36, window), 1);
  EXPECT_NEAR(PhaseWeight(0.3, window), 0.5, 1e-12);
  EXPECT_NEAR(PhaseWeight(0.5, window), 0.5, 1e-12);
  EXPECT_EQ(PhaseWeight(0.56, window), 0);
  EXPECT_EQ(PhaseWeight(0.95, window), 0);
}

TEST(PhaseWeight, WrapsAround) {
  const PhaseWindow window{.centre = 0.02, .width = 0.2};
  EXPECT_EQ(PhaseWeight(0.98, window), 1);
  EXPECT_NEAR(PhaseWeight(0.92, window), 0.5, 1e-9);
  EXPECT_EQ(PhaseWeight(0.8, window), 0);
}

TEST(PhaseWeight, WindowsSideBySideCountEveryFrameOnce) {
  for (const int count : {2, 3, 8, 20}) {
    for (double phase = 0; phase < 1; phase += 0.0137) {
      double sum = 0;
      for (int i = 0; i < count; ++i) {
        sum += PhaseWeight(phase, {.centre = double(i) / count, .width = 1.0 / count});
      }
      EXPECT_NEAR(sum, 1, 1e-9) << count << " windows, phase " << phase;
    }
  }
}

TEST(PhaseWeight, TheWholeCycleIsAllFramesAlike) {
  for (double phase = 0; phase < 1; phase += 0.1) {
    EXPECT_EQ(PhaseWeight(phase, {.centre = 0.3, .width = 1}), 1);
  }
}

TEST(ChooseViews, NamesWhatIsWrong) {
  std::vector<float> phases(40);
  for (int i = 0; i < 40; ++i) phases[i] = float(i % 10) / 10;
  EXPECT_EQ(ChooseViews(phases, {.centre = 0.5, .width = 0.2})->views.size(), 12u);
  const auto message = [&](const PhaseWindow& window) {
    return std::string(ChooseViews(phases, window).status().message());
  };
  EXPECT_THAT(message({.centre = 1, .width = 0.2}), HasSubstr("is 1; legal is 0 to less than 1"));
  EXPECT_THAT(message({.centre = 0.5, .width = 0}), HasSubstr("is 0; legal is more than 0"));
  EXPECT_THAT(message({.centre = 0.5, .width = 1.5}), HasSubstr("is 1.5; legal"));
  EXPECT_THAT(message({.centre = 0.5, .width = 0.05}),
              HasSubstr("holds 4 of 40 frames; legal is 8 or more"));
  for (const float bad : {-0.1F, 1.0F, std::numeric_limits<float>::quiet_NaN()}) {
    phases[7] = bad;
    EXPECT_THAT(message({.centre = 0.5, .width = 0.2}), HasSubstr("the phase of frame 7 is"));
  }
}

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

TEST(GatedSteps, OfAllViewsAreTheirOwn) {
  const std::vector<double> step{0.5, 1, 1, 2, 0.5};
  const ChosenViews all{.views = {0, 1, 2, 3, 4}, .weight = {1, 1, 1, 1, 1}};
  for (const bool closed : {false, true}) {
    const std::vector<double> steps = GatedSteps(step, all, closed);
    for (size_t i = 0; i < step.size(); ++i) EXPECT_NEAR(steps[i], step[i], 1e-12);
    EXPECT_EQ(LargestGap(step, all, closed), 0);
  }
}

// Runs reach as far as the middle to the next; weights share within a run.
TEST(GatedSteps, RunsStandForTheArcBetweenThem) {
  const std::vector<double> step(20, 1.0);
  const ChosenViews chosen{.views = {2, 3, 4, 12, 13}, .weight = {0.5, 1, 0.5, 1, 1}};
  // Centres are 3.5 and 13: the border is at 8.25.
  const std::vector<double> open = GatedSteps(step, chosen, false);
  EXPECT_THAT(open, ElementsAre(testing::DoubleEq(8.25 / 4), testing::DoubleEq(8.25 / 2),
                                testing::DoubleEq(8.25 / 4), testing::DoubleEq(11.75 / 2),
                                testing::DoubleEq(11.75 / 2)));
  EXPECT_EQ(LargestGap(step, chosen, false), 7);
  // On a circle the other border is half-way from 13 to 23.5.
  const std::vector<double> closed = GatedSteps(step, chosen, true);
  EXPECT_NEAR(closed[1], 0.5 * (8.25 + 1.75), 1e-12);
  EXPECT_NEAR(Sum(closed), 20, 1e-12);
  EXPECT_EQ(LargestGap(step, chosen, true), 8);
}

}  // namespace
}  // namespace isocenter
