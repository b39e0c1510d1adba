#include "kernels/geometry/phases/phase_signal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/base/units.h"
#include "kernels/geometry/phases/phase_curve.h"

namespace isocenter {
namespace {

using testing::HasSubstr;

double Apart(double a, double b) {
  const double apart = std::abs(a - b);
  return std::min(apart, 1 - apart);
}

// A breath that is largest at phase 0, with a ripple and a slow drift.
std::vector<float> Breathing(const std::vector<float>& phases, double ripple) {
  std::vector<float> signal;
  for (size_t i = 0; i < phases.size(); ++i) {
    signal.push_back(static_cast<float>(40 + 10 * std::cos(2 * kPi * phases[i]) +
                                        0.005 * double(i) + ripple * std::sin(1.7 * double(i))));
  }
  return signal;
}

TEST(PhasesOfSignal, FindsThePhasesOfIrregularCycles) {
  for (const uint64_t seed : {1, 2, 3}) {
    const auto truth = *PhasesOfFrames({.cycles = 11, .irregular = 0.15, .seed = seed}, 400);
    for (const double ripple : {0.0, 0.8}) {
      const auto found = PhasesOfSignal(Breathing(truth, ripple));
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_NEAR(double(found->peaks.size()), 11, 1);
      // Beyond the outermost peaks the length of the cycle is a guess.
      for (int i = int(std::ceil(found->peaks.front())); i < found->peaks.back(); ++i) {
        EXPECT_LT(Apart(found->phases[i], truth[i]), ripple > 0 ? 0.06 : 0.015)
            << "seed " << seed << ", ripple " << ripple << ", frame " << i;
      }
      for (const float phase : found->phases) EXPECT_TRUE(phase >= 0 && phase < 1) << phase;
    }
  }
}

TEST(PhasesOfSignal, GoesOnBesideTheOutermostPeaks) {
  std::vector<float> signal;
  for (int i = 0; i < 100; ++i) signal.push_back(float(std::cos(2 * kPi * (i - 7) / 20.0)));
  const auto found = PhasesOfSignal(signal);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->peaks.size(), 5u);
  EXPECT_NEAR(found->peaks[0], 7, 0.01);
  EXPECT_NEAR(found->shortest_cycle, 20, 0.01);
  EXPECT_NEAR(found->longest_cycle, 20, 0.01);
  for (int i = 0; i < 100; ++i) EXPECT_LT(Apart(found->phases[i], (i + 13) % 20 / 20.0), 1e-3) << i;
}

TEST(PhasesOfSignal, NamesWhatIsWrong) {
  const auto message = [](const std::vector<float>& signal) {
    return std::string(PhasesOfSignal(signal).status().message());
  };
  EXPECT_THAT(message({}), HasSubstr("has 0 peaks; legal is 2 or more"));
  EXPECT_THAT(message(std::vector<float>(50, 3.F)), HasSubstr("has 0 peaks"));
  std::vector<float> once(50, 0.F);
  once[20] = once[21] = once[22] = once[23] = 1;
  EXPECT_THAT(message(once), HasSubstr("the signal of 50 frames has 1 peaks"));
  once[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(message(once), HasSubstr("the signal of frame 3 is nan"));
  std::vector<float> fast;
  for (int i = 0; i < 60; ++i) fast.push_back(float(i % 3 == 0));
  EXPECT_THAT(message(fast), HasSubstr("shortest cycle is 3 frames"));
}

}  // namespace
}  // namespace isocenter
