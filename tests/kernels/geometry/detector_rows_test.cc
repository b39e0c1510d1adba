#include "kernels/geometry/detector_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/base/units.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter {
namespace {

TEST(RowsSeen, HoldsEveryRowThatAVoxelSamples) {
  const Detector detector{.columns = 100, .rows = 80, .pitch_u_mm = 2, .pitch_v_mm = 2};
  const Trajectory trajectory = *MakeCircularOrbit(
      {.views = 7, .source_to_isocenter_mm = 400, .source_to_detector_mm = 700, .arc = kPi},
      detector);
  const VolumeGrid grid = CenteredGrid(60, 50, 40, {1, 1.5, 2});
  for (const auto& [first, count] :
       {std::pair(0, 40), std::pair(0, 5), std::pair(12, 7), std::pair(39, 1)}) {
    VolumeGrid part = grid;
    part.origin = grid.VoxelToWorld(0, 0, first);
    part.nz = count;
    const RowRange rows = RowsSeen(trajectory, part, detector.rows);
    EXPECT_LE(rows.first + rows.count, detector.rows);
    double least = 1e9, most = -1e9;
    for (const ProjectionMatrix& matrix : trajectory) {
      for (int x = 0; x < 60; ++x) {
        for (int y = 0; y < 50; ++y) {
          for (int z = first; z < first + count; ++z) {
            const double v = matrix.Project(grid.VoxelToWorld(x, y, z)).v();
            least = std::min(least, v);
            most = std::max(most, v);
          }
        }
      }
    }
    EXPECT_LE(rows.first, std::max(0.0, std::floor(least)));
    EXPECT_GE(rows.first + rows.count, std::min(80.0, std::floor(most) + 2));
    // Not simply all of them.
    EXPECT_LT(rows.count, most - least + 9);
  }
}

TEST(RowsSeen, NothingSeenAndTooCloseToTell) {
  const Detector detector{.columns = 10, .rows = 8, .pitch_u_mm = 2, .pitch_v_mm = 2};
  const Trajectory trajectory = *MakeCircularOrbit(
      {.views = 3, .source_to_isocenter_mm = 400, .source_to_detector_mm = 700, .arc = kPi},
      detector);
  VolumeGrid above = CenteredGrid(4, 4, 4, {1, 1, 1});
  above.origin.z += 200;
  EXPECT_LE(RowsSeen(trajectory, above, 8).count, 2);
  const VolumeGrid around = CenteredGrid(100, 100, 4, {10, 10, 1});
  EXPECT_EQ(RowsSeen(trajectory, around, 8), (RowRange{0, 8}));
}

TEST(WithoutRowsBefore, ShiftsV) {
  ProjectionMatrix matrix{{1, 2, 3, 4, 5, 6, 7, 8, 0.1, 0.2, 0.3, 1}};
  const Projected before = matrix.Project({1, 2, 3});
  const Projected after = WithoutRowsBefore(matrix, 7).Project({1, 2, 3});
  EXPECT_DOUBLE_EQ(after.u(), before.u());
  EXPECT_NEAR(after.v(), before.v() - 7, 1e-12);
}

TEST(WithColumnsBefore, ShiftsUAlsoByPartsOfAColumn) {
  const ProjectionMatrix matrix{{1, 2, 3, 4, 5, 6, 7, 8, 0.1, 0.2, 0.3, 1}};
  const Projected before = matrix.Project({1, 2, 3});
  for (const double count : {7.0, 2.25, -0.5}) {
    const Projected after = WithColumnsBefore(matrix, count).Project({1, 2, 3});
    EXPECT_NEAR(after.u(), before.u() + count, 1e-12);
    EXPECT_DOUBLE_EQ(after.v(), before.v());
  }
}

}  // namespace
}  // namespace isocenter
