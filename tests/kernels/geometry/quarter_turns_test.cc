#include "kernels/geometry/quarter_turns.h"

#include <cmath>
#include <numbers>

#include "gtest/gtest.h"

namespace isocenter {
namespace {

FanBeamGeometry FullScan(int views, double direction) {
  FanBeamGeometry g;
  g.source_to_axis_mm = 500;
  g.channels = 300;
  g.channel_angle = 0.001;
  g.central_channel = 149.75;
  g.views = views;
  g.first_angle = 0.3;
  g.arc = direction * 2 * std::numbers::pi;
  return g;
}

VolumeGrid Turned(int n, double angle) {
  VolumeGrid grid = CenteredGrid(n, n, 1, {0.7, 0.7, 1});
  const double c = std::cos(angle), s = std::sin(angle);
  grid.direction = {c, -s, 0, s, c, 0, 0, 0, 1};
  const Vec3 middle = grid.VoxelToWorld(0.5 * (n - 1), 0.5 * (n - 1), 0);
  grid.origin = grid.origin - Vec3{middle.x, middle.y, 0};
  return grid;
}

// Tangent of the fan angle at which a view sees a pixel.
double Seen(const FanBeamGeometry& g, const VolumeGrid& grid, int view, int i, int j) {
  const Vec3 at = grid.VoxelToWorld(i, j, 0);
  const double c = std::cos(g.Angle(view)), s = std::sin(g.Angle(view));
  return (at.x * c + at.y * s) / (g.source_to_axis_mm - (at.y * c - at.x * s));
}

TEST(QuarterTurns, ShowTurnedPixelsWhereTheyWere) {
  for (const double direction : {1.0, -1.0}) {
    for (const int n : {6, 7}) {
      const FanBeamGeometry g = FullScan(12, direction);
      const VolumeGrid grid = Turned(n, 0.2);
      ASSERT_TRUE(QuarterTurnsAreAlike(g, 12, grid));
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
          const int back_i = direction > 0 ? j : n - 1 - j, back_j = direction > 0 ? n - 1 - i : i;
          EXPECT_NEAR(Seen(g, grid, 2 + 3, i, j), Seen(g, grid, 2, back_i, back_j), 1e-12);
        }
      }
    }
  }
}

TEST(QuarterTurns, NeedAllViewsOfAFullScanAndACenteredSquare) {
  const FanBeamGeometry full = FullScan(12, 1);
  const VolumeGrid square = CenteredGrid(6, 6, 1, {0.7, 0.7, 1});
  ASSERT_TRUE(QuarterTurnsAreAlike(full, 12, square));
  EXPECT_FALSE(QuarterTurnsAreAlike(full, 8, square));
  EXPECT_FALSE(QuarterTurnsAreAlike(FullScan(10, 1), 10, square));
  FanBeamGeometry overscan = full;
  overscan.arc = 4;
  EXPECT_FALSE(QuarterTurnsAreAlike(overscan, 12, square));
  EXPECT_FALSE(QuarterTurnsAreAlike(full, 12, CenteredGrid(6, 7, 1, {0.7, 0.7, 1})));
  EXPECT_FALSE(QuarterTurnsAreAlike(full, 12, CenteredGrid(6, 6, 1, {0.7, 0.8, 1})));
  VolumeGrid shifted = square;
  shifted.origin.x += 1e-3;
  EXPECT_FALSE(QuarterTurnsAreAlike(full, 12, shifted));
}

}  // namespace
}  // namespace isocenter
