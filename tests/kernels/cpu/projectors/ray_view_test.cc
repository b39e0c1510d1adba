#include "kernels/cpu/projectors/ray_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/geometry/trajectory.h"

namespace isocenter::cpu {
namespace {

constexpr Heading kForward{0, false}, kBackward{0, true};

TEST(PlanesInFront, AreThoseBehindWhichTheSourceIsNot) {
  EXPECT_EQ(PlanesInFront(-5, kForward, 0, 10).count(), 10);
  EXPECT_EQ(PlanesInFront(20, kForward, 0, 10).count(), 0);
  EXPECT_EQ(PlanesInFront(20, kBackward, 0, 10).count(), 10);
  EXPECT_EQ(PlanesInFront(-5, kBackward, 0, 10).count(), 0);
  // A plane through the source has w = 0, which does not count.
  const PlaneRun forward = PlanesInFront(4, kForward, 0, 10);
  EXPECT_EQ(forward.first, 5);
  EXPECT_EQ(forward.last, 10);
  EXPECT_EQ(forward.at, 5);
  const PlaneRun backward = PlanesInFront(4, kBackward, 0, 10);
  EXPECT_EQ(backward.first, 0);
  EXPECT_EQ(backward.last, 4);
}

TEST(SlabsInFront, TheSourcesOwnSlabIsCut) {
  const SlabRuns forward = SlabsInFront(4.25, kForward, 0, 10);
  EXPECT_EQ(forward.whole.first, 5);
  EXPECT_EQ(forward.whole.last, 10);
  ASSERT_EQ(forward.part.count(), 1);
  EXPECT_EQ(forward.part.first, 4);
  EXPECT_DOUBLE_EQ(forward.part.thickness, 0.25);  // from 4.25 to 4.5
  EXPECT_DOUBLE_EQ(forward.part.at, 4.375);
  const SlabRuns backward = SlabsInFront(4.25, kBackward, 0, 10);
  EXPECT_EQ(backward.whole.last, 4);
  ASSERT_EQ(backward.part.count(), 1);
  EXPECT_EQ(backward.part.first, 4);
  EXPECT_DOUBLE_EQ(backward.part.thickness, 0.75);  // from 3.5 to 4.25
  EXPECT_DOUBLE_EQ(backward.part.at, 3.875);
}

TEST(SlabsInFront, PartsMakeTheWhole) {
  // Whatever runs of planes a volume is gone through in, their slabs add up to the same length.
  for (const Heading heading : {kForward, kBackward}) {
    for (double source = -2; source < 12; source += 0.125) {
      double together = 0, apart = 0;
      const auto length = [&](int first, int last) {
        const SlabRuns runs = SlabsInFront(source, heading, first, last);
        return runs.whole.count() + runs.part.count() * runs.part.thickness;
      };
      together = length(0, 10);
      for (int first = 0; first < 10; first += 3) {
        apart += length(first, std::min(first + 3, 10));
      }
      const double from = heading.backward ? -0.5 : std::max(source, -0.5);
      const double to = heading.backward ? std::min(source, 9.5) : 9.5;
      EXPECT_DOUBLE_EQ(together, std::max(to - from, 0.0)) << source;
      EXPECT_DOUBLE_EQ(apart, together) << source;
    }
  }
}

TEST(RayView, SeesWhatTheMatrixProjects) {
  const Detector detector{.columns = 30, .rows = 20, .pitch_u_mm = 2, .pitch_v_mm = 3};
  const auto orbit = MakeWobblingOrbit({.views = 5,
                                        .source_to_isocenter_mm = 700,
                                        .source_to_detector_mm = 1100,
                                        .start_angle = 0.3,
                                        .arc = 3},
                                       detector, 3, 7);
  ASSERT_TRUE(orbit.ok()) << orbit.status();
  VolumeGrid grid = CenteredGrid(20, 24, 28, {1.5, 0.8, 1.1});
  grid.origin = grid.origin + Vec3{3, -4, 5};
  const std::vector<RayView> views = MakeRayViews(*orbit, grid, {5, 20, 30});
  ASSERT_EQ(views.size(), 5u);
  for (size_t i = 0; i < views.size(); ++i) {
    const RayView& view = views[i];
    const double u = 7, v = 11, w = 0.9;
    const Vec3 point = grid.VoxelToWorld(view.source[0] + w * view.Direction(0, u, v),
                                         view.source[1] + w * view.Direction(1, u, v),
                                         view.source[2] + w * view.Direction(2, u, v));
    const Projected seen = (*orbit)[i].Project(point);
    EXPECT_NEAR(seen.u(), u, 1e-9);
    EXPECT_NEAR(seen.v(), v, 1e-9);
    EXPECT_NEAR(seen.w, w, 1e-12);
  }
}

TEST(RayView, TheFirstOfEqualAxesIsTheMajorOne) {
  RayView view{};
  view.d0 = {-2, 2, 1};
  view.dv = {0, 0, 1};
  view.rows = 4;
  view.columns = 1;
  EXPECT_EQ(view.HeadingOf(0, 0), (Heading{0, true}));
  EXPECT_EQ(view.HeadingOf(0, 1), (Heading{0, true}));   // z as large as x
  EXPECT_EQ(view.HeadingOf(0, 2), (Heading{2, false}));  // z larger
  Heading heading;
  EXPECT_TRUE(view.IsUniform(0, 0, 1, heading));
  EXPECT_FALSE(view.IsUniform(heading));
}

}  // namespace
}  // namespace isocenter::cpu
