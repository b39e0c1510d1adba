#include "kernels/recon/self_calibration/detector_move.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace isocenter::recon {
namespace {

constexpr Detector kDetector{.columns = 200, .rows = 150, .pitch_u_mm = 0.5, .pitch_v_mm = 0.8};

ProjectionMatrix View() {
  return Compose({.source = {700, 200, 30},
                  .u_axis = {-0.28, 0.96, 0},
                  .v_axis = {0, 0, -1},
                  .depth_axis = {-0.96, -0.28, 0},
                  .focal_u_px = 800,
                  .focal_v_px = 500,
                  .principal_u_px = 120,
                  .principal_v_px = 90});
}

// Millimetres from the detector's middle.
std::array<double, 2> SeenAt(const ProjectionMatrix& matrix, Vec3 point) {
  const Projected p = matrix.Project(point);
  return {(p.u() - 99.5) * 0.5, (p.v() - 74.5) * 0.8};
}

TEST(DetectorMove, TurnsAboutTheMiddleThenShiftsInMillimetres) {
  const double roll = 0.1;
  const ProjectionMatrix moved =
      Moved(View(), kDetector, {.u_mm = 3, .v_mm = -2, .roll_rad = roll});
  for (const Vec3 point : {Vec3{0, 0, 0}, {40, -20, 10}, {-10, 30, -25}}) {
    const auto [x, y] = SeenAt(View(), point);
    const auto [moved_x, moved_y] = SeenAt(moved, point);
    EXPECT_NEAR(moved_x, std::cos(roll) * x - std::sin(roll) * y + 3, 1e-9);
    EXPECT_NEAR(moved_y, std::sin(roll) * x + std::cos(roll) * y - 2, 1e-9);
    EXPECT_EQ(moved.Project(point).w, View().Project(point).w);
  }
}

TEST(DetectorMove, NoneLeavesTheMatrix) {
  const ProjectionMatrix still = Moved(View(), kDetector, {});
  for (int i = 0; i < 12; ++i) EXPECT_NEAR(still.m[i], View().m[i], 1e-12) << i;
}

}  // namespace
}  // namespace isocenter::recon
