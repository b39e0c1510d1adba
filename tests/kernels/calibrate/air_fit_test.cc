#include "kernels/calibrate/air_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/base/units.h"

namespace isocenter::calibrate {
namespace {

using testing::HasSubstr;

constexpr Detector kDetector{.columns = 70, .rows = 40, .pitch_u_mm = 1, .pitch_v_mm = 1};

// An arm that gives way: a slope over the columns that turns with the angle, and a tube that gives
// less at one side.
double Air(double angle, double u) {
  return (1 - 0.05 * std::cos(angle)) * (1 + 0.04 * std::sin(angle) * (u / 70 - 0.5));
}

AirFrames Sweep(double first, double arc, int frames, double flicker = 0) {
  AirFrames sweep(kDetector);
  std::vector<float> frame(size_t(kDetector.columns) * kDetector.rows);
  for (int k = 0; k < frames; ++k) {
    const double angle = first + arc * k / (frames - 1);
    const double dose = 1 + flicker * std::sin(17.0 * k * k);
    for (size_t i = 0; i < frame.size(); ++i) {
      frame[i] = static_cast<float>(dose * Air(angle, static_cast<double>(i % 70)));
    }
    frame[333] = std::numeric_limits<float>::quiet_NaN();
    const absl::Status added = sweep.Add(frame, std::remainder(angle, 2 * std::numbers::pi));
    EXPECT_TRUE(added.ok()) << added;
  }
  return sweep;
}

/// Of whole blocks, whose middles are pixels' edges.
double WorstError(const ops::AirSweep& sweep) {
  double worst = 0;
  for (size_t i = 0; i < sweep.angles.size(); ++i) {
    for (int row = 0; row < 2; ++row) {
      for (int column = 0; column < 4; ++column) {
        const double expected = Air(sweep.angles[i], 16 * column + 7.5);
        const double error = sweep.relative[(i * 3 + row) * 5 + column] / expected - 1;
        worst = std::max(worst, std::abs(error));
      }
    }
  }
  return worst;
}

TEST(FitAir, FollowsTheArm) {
  for (const auto& [first, arc] : {std::pair{-0.3, 3.6}, {3.0, -3.6}, {2.5, 3.6}}) {
    const auto fit = Sweep(first, arc, 200).Fit();
    ASSERT_TRUE(fit.ok()) << fit.status();
    EXPECT_NEAR(fit->sweep.angles.back() - fit->sweep.angles.front(), 3.6, 1e-9);
    // What a straight line over 8 degrees smooths away.
    EXPECT_LT(WorstError(fit->sweep), 2e-4);
    EXPECT_EQ(fit->figures[2].name, "empty beam off the air map");
    EXPECT_GT(fit->figures[2].value, 2);
    EXPECT_LT(fit->figures.back().value, 0.02);
  }
}

TEST(FitAir, ClosesAFullTurn) {
  const auto fit = Sweep(0.5, 2 * std::numbers::pi * 359 / 360, 360).Fit();
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_NEAR(fit->sweep.angles.back() - fit->sweep.angles.front(), 2 * std::numbers::pi, 1e-9);
  EXPECT_LT(WorstError(fit->sweep), 2e-4);
}

TEST(FitAir, AveragesWhatFlickers) {
  const auto fit = Sweep(0, 3.6, 400, 0.01).Fit();
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_LT(WorstError(fit->sweep), 0.006);
  EXPECT_EQ(fit->figures[3].name, "flicker of the frames' doses");
  EXPECT_NEAR(fit->figures[3].value, 0.7, 0.1);
}

TEST(FitAir, RefusesWhatIsNoSweep) {
  EXPECT_THAT(Sweep(0, 1, 19).Fit().status().message(),
              HasSubstr("the sweep has 19 frames; legal is 20 at least"));
  AirFrames back = Sweep(0, 1, 30);
  std::vector<float> frame(size_t(kDetector.columns) * kDetector.rows, 1.f);
  ASSERT_TRUE(back.Add(frame, 0.9).ok());
  EXPECT_THAT(back.Fit().status().message(), HasSubstr("does not turn on from frame 29 to 30"));
  // An object, or a beam that was not switched on.
  std::fill(frame.begin(), frame.end(), 0.1f);
  EXPECT_THAT(back.Add(frame, 1).message(),
              HasSubstr("the level of frame 31 is 0.1 of the flat frames; legal is 0.5 to 2"));
  std::fill(frame.begin(), frame.end(), std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(back.Add(frame, 1).message(), HasSubstr("column 0, row 0 has no good pixel"));
}

TEST(FitAir, RefusesABeamThatChangesTooFast) {
  AirFrames sweep(kDetector);
  std::vector<float> frame(size_t(kDetector.columns) * kDetector.rows);
  for (int k = 0; k < 100; ++k) {
    for (size_t i = 0; i < frame.size(); ++i) {
      frame[i] = static_cast<float>(1 + 0.02 * std::sin(k) * (double(i % 70) / 70 - 0.5));
    }
    ASSERT_TRUE(sweep.Add(frame, 0.03 * k).ok());
  }
  EXPECT_THAT(sweep.Fit().status().message(), HasSubstr("left by the sweep's table is 0."));
}

}  // namespace
}  // namespace isocenter::calibrate
