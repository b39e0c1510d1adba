#include "client/imaging/plot_axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace isocenter::imaging {
namespace {

using testing::ElementsAre;

std::vector<std::string> Told(const AxisRange& range) {
  std::vector<std::string> texts;
  for (const Tick& tick : TicksOf(range)) {
    EXPECT_GE(tick.at, range.low - 1e-6);
    EXPECT_LE(tick.at, range.high + 1e-6);
    if (!tick.text.empty()) texts.push_back(tick.text);
  }
  return texts;
}

TEST(PlotAxis, ALinearOneHasRoundValues) {
  EXPECT_THAT(Told({0, 10}), ElementsAre("0", "2", "4", "6", "8", "10"));
  EXPECT_THAT(Told({-0.3, 0.3}), ElementsAre("-0.3", "-0.2", "-0.1", "0", "0.1", "0.2", "0.3"));
  EXPECT_THAT(Told({0, 0.05}), ElementsAre("0", "0.01", "0.02", "0.03", "0.04", "0.05"));
}

TEST(PlotAxis, ALogarithmicOneHasPowersOfTenAtTheirPlaces) {
  EXPECT_THAT(Told({-3, 0, true}), ElementsAre("0.001", "0.01", "0.1", "1"));
  EXPECT_THAT(Told({std::log10(0.3), std::log10(25), true}),
              ElementsAre("0.5", "1", "2", "5", "10", "20"));
  for (const Tick& tick : TicksOf({-3, 0, true})) {
    if (!tick.text.empty()) EXPECT_NEAR(std::pow(10, tick.at), std::stod(tick.text), 1e-9);
  }
  // Lines between them, closer and closer.
  EXPECT_EQ(TicksOf({-1, 0, true}).size(), 10u);
}

TEST(PlotAxis, ALogarithmicOneOfLessThanADecadeHasRoundValues) {
  EXPECT_THAT(Told({std::log10(0.8), std::log10(1.4), true}),
              ElementsAre("0.8", "0.9", "1", "1.1", "1.2", "1.3", "1.4"));
}

TEST(PlotAxis, ManyDecadesAreNotAllTold) {
  EXPECT_LE(Told({-30, 30, true}).size(), 16u);
  EXPECT_GE(Told({-30, 30, true}).size(), 5u);
}

}  // namespace
}  // namespace isocenter::imaging
