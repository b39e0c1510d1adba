#include "tests/bench/siddon/updates.h"

#include <gtest/gtest.h>

#include "kernels/geometry/trajectory.h"
#include "kernels/reference/system_matrix.h"

namespace isocenter::bench {
namespace {

// Entries of the reference's matrix; odd sizes keep rays off edges.
int64_t Entries(const Trajectory& views, const VolumeGrid& grid, const Detector& detector) {
  int64_t entries = 0;
  for (const ProjectionMatrix& view : views) {
    reference::SiddonEntries(view, grid, {1, detector.rows, detector.columns},
                             [&](int64_t, int64_t, double length) { entries += length > 0; });
  }
  return entries;
}

void ExpectReferences(const VolumeGrid& grid) {
  const Detector detector{.columns = 31, .rows = 23, .pitch_u_mm = 1.7, .pitch_v_mm = 1.9};
  const auto views = MakeCircularOrbit({.views = 7,
                                        .source_to_isocenter_mm = 100,
                                        .source_to_detector_mm = 170,
                                        .start_angle = 0.123,
                                        .arc = 5.1},
                                       detector);
  ASSERT_TRUE(views.ok()) << views.status();
  ThreadPool pool(2);
  const int64_t expected = Entries(*views, grid, detector);
  EXPECT_GT(expected, 1000);
  EXPECT_EQ(CountSiddonUpdates(*views, grid, detector, pool), expected);
}

TEST(CountSiddonUpdates, CountsTheReferencesEntries) {
  ExpectReferences(CenteredGrid(19, 21, 17, {1.03, 0.97, 1.01}));
}

TEST(CountSiddonUpdates, CountsWhatOfTheGridIsSeen) {
  VolumeGrid grid = CenteredGrid(19, 21, 17, {1.03, 0.97, 1.01});
  grid.origin = grid.origin + Vec3{11.3, -4.7, 13.1};
  ExpectReferences(grid);
}

TEST(CountSiddonUpdates, CountsOneVoxel) { ExpectReferences(CenteredGrid(1, 1, 1, {30, 31, 29})); }

}  // namespace
}  // namespace isocenter::bench
