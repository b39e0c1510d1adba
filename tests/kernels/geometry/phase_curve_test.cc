#include "kernels/geometry/phases/phase_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace isocenter {
namespace {

using testing::HasSubstr;

// Lengths of the whole cycles, in frames.
std::vector<int> Lengths(const std::vector<float>& phases) {
  std::vector<int> lengths;
  int last = -1;
  for (size_t i = 1; i < phases.size(); ++i) {
    if (phases[i] >= phases[i - 1]) continue;
    if (last >= 0) lengths.push_back(static_cast<int>(i) - last);
    last = static_cast<int>(i);
  }
  return lengths;
}

TEST(PhaseCurve, HasAsManyCyclesAsAskedForAndStaysInRange) {
  const auto phases = *PhasesOfFrames({.cycles = 20, .irregular = 0}, 1000);
  ASSERT_EQ(phases.size(), 1000u);
  for (const float phase : phases) EXPECT_TRUE(phase >= 0 && phase < 1) << phase;
  for (const int length : Lengths(phases)) EXPECT_NEAR(length, 50, 1);
  EXPECT_GE(Lengths(phases).size(), 18u);
}

TEST(PhaseCurve, IrregularCyclesDifferAndSeedsDo) {
  const PhaseCurve curve{.cycles = 100, .irregular = 0.1, .seed = 5};
  const auto phases = *PhasesOfFrames(curve, 10000);
  double sum = 0, squares = 0;
  const std::vector<int> lengths = Lengths(phases);
  for (const int length : lengths) {
    sum += length;
    squares += double(length) * length;
  }
  const double mean = sum / double(lengths.size());
  const double deviation = std::sqrt(squares / double(lengths.size()) - mean * mean);
  EXPECT_NEAR(mean, 100, 4);
  EXPECT_NEAR(deviation / mean, 0.09, 0.03);  // of a normal distribution that is cut at two: 0.088
  EXPECT_EQ(phases, *PhasesOfFrames(curve, 10000));
  PhaseCurve other = curve;
  other.seed = 6;
  EXPECT_NE(phases, *PhasesOfFrames(other, 10000));
}

TEST(PhaseCurve, NamesWhatIsWrong) {
  EXPECT_THAT(std::string(PhasesOfFrames({.cycles = 0.2}, 10).status().message()),
              HasSubstr("0.2; legal is 0.5 to 1000"));
  EXPECT_THAT(std::string(PhasesOfFrames({.cycles = 2, .irregular = 0.5}, 10).status().message()),
              HasSubstr("0.5; legal is 0 to 0.3"));
  EXPECT_THAT(std::string(PhasesOfFrames({.cycles = 2}, 0).status().message()),
              HasSubstr("0; legal is 1 or more"));
}

}  // namespace
}  // namespace isocenter
