#include "kernels/cpu/fdk/backproject_limits.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/geometry/volume_grid.h"

namespace isocenter::cpu {
namespace {

// A source 750 mm away on the x axis, u along y, v along -z, one pixel per mm at the isocentre,
// voxel (i, j, k) at (i, j, k) mm; the isocentre falls on the middle of 201 x 201 pixels.
// `tilt` turns the view direction out of the plane z = 0.
BackprojectView View(double tilt = 0) {
  const double c = std::cos(tilt) / 750, s = std::sin(tilt) / 750;
  BackprojectView view{.image = nullptr, .stride = 0, .rows = 201, .columns = 201};
  view.matrix.m = {-100 * c, 1, -100 * s,     100,  //
                   -100 * c, 0, -100 * s - 1, 100,  //
                   -c,       0, -s,           1};
  return view;
}

constexpr VoxelBox kAroundIsocenter{-8, 8, -8, 8, -64, 64};

TEST(IsRegularEverywhere, HoldsAroundTheIsocenter) {
  EXPECT_TRUE(IsRegularEverywhere(View(), kAroundIsocenter, 16));
}

TEST(IsRegularEverywhere, NeedsTheWholeBoxOnTheDetector) {
  VoxelBox box = kAroundIsocenter;
  box.z1 = 101;  // falls on v = -2 or so
  EXPECT_FALSE(IsRegularEverywhere(View(), box, 16));
  BackprojectView narrow = View();
  narrow.columns = 105;
  EXPECT_FALSE(IsRegularEverywhere(narrow, kAroundIsocenter, 16));
}

TEST(IsRegularEverywhere, NeedsTheBoxInFrontOfTheSource) {
  VoxelBox box = kAroundIsocenter;
  box.x1 = 750;
  EXPECT_FALSE(IsRegularEverywhere(View(), box, 16));
}

TEST(IsRegularEverywhere, NeedsColumnsNearlyAlongZ) {
  BackprojectView rolled = View();
  rolled.matrix.m[2] += 0.07;  // u drifts by more than a pixel per 16 voxels
  EXPECT_FALSE(IsRegularEverywhere(rolled, kAroundIsocenter, 16));
  EXPECT_TRUE(IsRegularEverywhere(rolled, kAroundIsocenter, 8));
}

TEST(IsRegularEverywhere, NeedsDepthNearlyConstantAlongZ) {
  EXPECT_FALSE(IsRegularEverywhere(View(0.3), kAroundIsocenter, 16));
}

// The bend is the deviation of v from the chord of its block, from exact positions.
TEST(BendAtCentre, IsTheDeviationFromTheChord) {
  const BackprojectView view = View(0.05);
  const auto v = [&](double z) { return view.matrix.Project({0, 0, z}).v(); };
  const double bend = v(0) - (v(-8) + v(8)) / 2;
  EXPECT_GT(std::abs(bend), 1e-4);
  EXPECT_NEAR(BendAtCentre(view, kAroundIsocenter, 16), bend, 1e-6);
}

}  // namespace
}  // namespace isocenter::cpu
