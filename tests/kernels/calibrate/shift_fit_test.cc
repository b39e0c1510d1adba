#include "kernels/calibrate/consistency/shift_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace isocenter::calibrate {
namespace {

constexpr int kFrames = 30;

// What shifts of a pixel times (1, frame / 30) along u and (0, 1 - frame / 30) along v leave of
// random lines, with a few that are wrong for another reason.
std::vector<PlaneDifference> Differences() {
  std::mt19937 random(3);
  const auto drawn = [&] { return static_cast<float>(random() % 2001) / 1000 - 1; };
  const auto u = [](int frame) { return 1 + frame / 30.0; };
  const auto v = [](int frame) { return 1 - frame / 30.0; };
  std::vector<PlaneDifference> all;
  for (int i = 0; i < 6000; ++i) {
    PlaneDifference d{.first = static_cast<int>(random() % kFrames),
                      .second = static_cast<int>(random() % kFrames),
                      .first_by_u = drawn(),
                      .first_by_v = drawn(),
                      .second_by_u = drawn(),
                      .second_by_v = drawn()};
    d.difference = static_cast<float>(d.first_by_u * u(d.first) + d.first_by_v * v(d.first) -
                                      d.second_by_u * u(d.second) - d.second_by_v * v(d.second) +
                                      0.01 * drawn());
    if (i % 50 == 0) d.difference += 20;
    all.push_back(d);
  }
  return all;
}

TEST(FitShifts, AlongCurvesFollowsThem) {
  std::vector<double> curves;
  for (int frame = 0; frame < kFrames; ++frame) {
    curves.push_back(1);
    curves.push_back(frame / 30.0);
  }
  const ShiftFit fit = FitShifts(Differences(), kFrames, curves);
  const ShiftFit single = FitShifts(Differences(), kFrames);
  ASSERT_EQ(fit.shifts.size(), size_t{kFrames});
  for (int frame = 0; frame < kFrames; ++frame) {
    EXPECT_NEAR(fit.shifts[frame].u_px, 1 + frame / 30.0, 2e-3) << frame;
    EXPECT_NEAR(fit.shifts[frame].v_px, 1 - frame / 30.0, 2e-3) << frame;
    // Four unknowns are known better than sixty.
    EXPECT_LT(fit.shifts[frame].u_sigma_px, single.shifts[frame].u_sigma_px) << frame;
  }
  EXPECT_LT(fit.after, 0.1 * fit.before);
}

// The shifts of a curve that does not have them stay off.
TEST(FitShifts, AlongCurvesDoesNothingElse) {
  const std::vector<double> constant(kFrames, 1.0);
  const ShiftFit fit = FitShifts(Differences(), kFrames, constant);
  for (const FrameShift& shift : fit.shifts) {
    EXPECT_EQ(shift.u_px, fit.shifts[0].u_px);
    EXPECT_EQ(shift.v_px, fit.shifts[0].v_px);
  }
  EXPECT_GT(fit.after, 10 * FitShifts(Differences(), kFrames).after);
}

}  // namespace
}  // namespace isocenter::calibrate
