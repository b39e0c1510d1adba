#include "kernels/recon/motion/way.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace isocenter::recon {
namespace {

constexpr int kFrames = 100, kEach = 6;

// Both go 5 mm, 3 along one parameter and 4 along another; what is rounded off is less than 3 mm of
// the slow one's way and of one step of the jerk.
TEST(Way, OfAJerkIsThatOfASlowMotionToTheSamePlace) {
  std::vector<double> jerk(kFrames * kEach), slow(kFrames * kEach), unused(kFrames * kEach);
  for (int frame = 0; frame < kFrames; ++frame) {
    const double share = frame / (kFrames - 1.0);
    slow[kEach * frame + 1] = 3 * share;
    slow[kEach * frame + 4] = 4 * share;
    jerk[kEach * frame + 1] = frame < 50 ? 0 : 3;
    jerk[kEach * frame + 4] = frame < 50 ? 0 : 4;
  }
  EXPECT_NEAR(AddWay(jerk, kEach, 1, unused), 5, 0.04);
  const double rounded = 3.0 / kFrames, step = 5.0 / (kFrames - 1);
  EXPECT_NEAR(AddWay(slow, kEach, 1, unused), (kFrames - 1) * (std::hypot(step, rounded) - rounded),
              1e-9);
  EXPECT_NEAR(AddWay(slow, kEach, 2, unused), 2 * AddWay(slow, kEach, 1, unused), 1e-12);
  EXPECT_EQ(AddWay(std::vector<double>(kFrames * kEach, 7.0), kEach, 1, unused), 0);
}

TEST(Way, AddsItsDerivatives) {
  std::vector<double> at(5 * kEach);
  for (size_t i = 0; i < at.size(); ++i) at[i] = std::sin(1.7 * static_cast<double>(i));
  std::vector<double> gradient(at.size(), 10.0), unused(at.size());
  AddWay(at, kEach, 0.5, gradient);
  for (size_t i = 0; i < at.size(); ++i) {
    constexpr double kStep = 1e-5;
    std::vector<double> more = at, less = at;
    more[i] += kStep;
    less[i] -= kStep;
    const double expected =
        (AddWay(more, kEach, 0.5, unused) - AddWay(less, kEach, 0.5, unused)) / (2 * kStep);
    EXPECT_NEAR(gradient[i] - 10, expected, 1e-7) << i;
  }
}

}  // namespace
}  // namespace isocenter::recon
