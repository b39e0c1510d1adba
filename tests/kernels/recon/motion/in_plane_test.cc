#include "kernels/recon/motion/in_plane.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/geometry/orbit_axis.h"
#include "kernels/recon/motion/focus.h"
#include "tests/kernels/recon/iterative/small_scan.h"

namespace isocenter::recon {
namespace {

// How an orbit is tilted, by which no part of a search may go.
RigidTransform Tilt(double rad) { return TransformOf({.turn_rad = {rad, 0, 0}}); }

Trajectory Tilted(const Trajectory& trajectory, double rad) {
  Trajectory tilted;
  for (const ProjectionMatrix& matrix : trajectory) {
    tilted.push_back(Times(matrix, Inverse(Tilt(rad))));
  }
  return tilted;
}

TEST(SlabAboutOrbit, LiesAlongTheOrbitsPlane) {
  const Trajectory level = MakeSmallScan(40, 220, 16).acquisition.trajectory;
  const VolumeGrid cube = CenteredGrid(30, 30, 30, {4, 4, 4});
  const auto slab = SlabAboutOrbit(level, cube);
  ASSERT_TRUE(slab.ok()) << slab.status();
  EXPECT_EQ(slab->shape(), (Shape3{11, 30, 30}));
  EXPECT_LT(Norm(slab->VoxelToWorld(14.5, 14.5, 5)), 1e-6);
  const auto tilted = SlabAboutOrbit(Tilted(level, 0.4), cube);
  ASSERT_TRUE(tilted.ok()) << tilted.status();
  for (const Vec3 voxel : {Vec3{0, 0, 0}, {29, 3, 10}, {7, 29, 2}}) {
    const Vec3 expected = Tilt(0.4)(slab->VoxelToWorld(voxel.x, voxel.y, voxel.z));
    EXPECT_LT(Norm(tilted->VoxelToWorld(voxel.x, voxel.y, voxel.z) - expected), 1e-6);
  }
  // No more slices than there are.
  EXPECT_EQ(SlabAboutOrbit(level, CenteredGrid(8, 8, 8, {4, 4, 4}))->nz, 8);
}

// An object at rest whose poses are said to sway along the rows and to nod: the sway goes, the nod
// is none of its business. However the orbit is tilted.
TEST(SharpenInPlane, TakesOutWhatIsInThePlaneAlone) {
  for (const double tilt : {0.0, 0.3}) {
    const SmallScan scan = MakeSmallScan(40, 220, 16);
    Acquisition acquisition = scan.acquisition;
    acquisition.trajectory = Tilted(acquisition.trajectory, tilt);
    const Vec3 axis = *OrbitAxis(acquisition.trajectory), nod = 0.002 * Tilt(tilt).Turn({1, 0, 0});
    const auto row = [&](int view) { return Decompose(acquisition.trajectory[view])->u_axis; };
    std::vector<RigidPose> given;
    for (int view = 0; view < 40; ++view) {
      given.push_back(
          {.turn_rad = nod, .shift_mm = 3 * std::sin(0.8 * view) * row(view) + 0.5 * axis});
    }
    const auto device = OpenDevice("cpu");
    ThreadPool threads(1);
    const BinnedLines lines{.shape = scan.frame_shape(), .lines = scan.frames};
    double done = 0;
    const auto found = SharpenInPlane(acquisition, lines, given, 24, 20,
                                      FocusSettings({.mu_water_per_mm = kMuWater}), TestRegistry(),
                                      *device, threads, [&done](double share) {
                                        done = share;
                                        return absl::OkStatus();
                                      });
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(done, 1);
    EXPECT_GE(found->evaluations, 20);
    double before = 0, after = 0;
    for (int view = 0; view < 40; ++view) {
      const RigidPose& is = found->poses[view];
      EXPECT_NEAR(Dot(axis, is.shift_mm), 0.5, 1e-6);
      EXPECT_LT(Norm(is.turn_rad - Dot(axis, is.turn_rad) * axis - nod), 1e-9);
      before += std::pow(Dot(row(view), given[view].shift_mm), 2);
      after += std::pow(Dot(row(view), is.shift_mm), 2);
    }
    EXPECT_LT(after, 0.25 * before) << tilt;
  }
}

TEST(SharpenInPlane, EndsWithTheErrorOfItsProgress) {
  const SmallScan scan = MakeSmallScan(40, 220, 16);
  const auto device = OpenDevice("cpu");
  ThreadPool threads(1);
  const BinnedLines lines{.shape = scan.frame_shape(), .lines = scan.frames};
  const std::vector<RigidPose> rest(40);
  const auto found = SharpenInPlane(
      scan.acquisition, lines, rest, 20, 6, FocusSettings({.mu_water_per_mm = kMuWater}),
      TestRegistry(), *device, threads, [](double) { return absl::CancelledError("enough"); });
  EXPECT_EQ(found.status(), absl::CancelledError("enough"));
}

}  // namespace
}  // namespace isocenter::recon
