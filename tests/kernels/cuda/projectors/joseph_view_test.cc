#include "kernels/cuda/projectors/joseph/joseph_view.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/cuda/projectors/joseph/joseph_adjoint_view.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::cuda {
namespace {

constexpr Detector kDetector{.columns = 61, .rows = 47, .pitch_u_mm = 4, .pitch_v_mm = 4};
constexpr Shape3 kStack{1, kDetector.rows, kDetector.columns};

ProjectionMatrix View(double angle) {
  const auto orbit = MakeWobblingOrbit({.views = 1,
                                        .source_to_isocenter_mm = 600,
                                        .source_to_detector_mm = 1000,
                                        .start_angle = angle,
                                        .arc = 0},
                                       kDetector, 1, 3);
  EXPECT_TRUE(orbit.ok()) << orbit.status();
  return orbit->front();
}

VolumeGrid Grid() {
  VolumeGrid grid = CenteredGrid(40, 50, 30, {1.5, 1.1, 2});
  grid.origin.x += 7;
  return grid;
}

double At(const AffineInPixels& a, double u, double v) { return a.at0 + a.du * u + a.dv * v; }

TEST(JosephView, PlanesAreCrossedWhereAVoxelIsSeen) {
  const VolumeGrid grid = Grid();
  const int n[] = {grid.nx, grid.ny, grid.nz};
  std::mt19937 random(1);
  std::uniform_real_distribution<double> fraction(0, 1);
  for (const double angle : {0.2, 0.9, 2.5, 4.4}) {
    const ProjectionMatrix world = View(angle);
    for (const PlaneAxes& axes : kPlaneAxes) {
      const JosephView view = MakeJosephView(world, axes, grid, kStack);
      for (int i = 0; i < 20; ++i) {
        double voxel[3];
        for (int a = 0; a < 3; ++a) voxel[a] = fraction(random) * (n[a] - 1);
        const Projected seen = world.Project(grid.VoxelToWorld(voxel[0], voxel[1], voxel[2]));
        const double u = seen.u() - 0.5 * (kDetector.columns - 1);
        const double v = seen.v() - 0.5 * (kDetector.rows - 1);
        const double d = At(view.d_major, u, v);
        if (std::abs(d) < 0.2) continue;  // nearly along the planes
        const double ahead = voxel[axes.major] - 0.5 * (n[axes.major] - 1);
        const double b =
            0.5 * (n[axes.b] - 1) + (At(view.cross_b, u, v) + ahead * At(view.d_b, u, v)) / d;
        const double c =
            0.5 * (n[axes.c] - 1) + (At(view.cross_c, u, v) + ahead * At(view.d_c, u, v)) / d;
        // Coefficients in float32: 1e-7 of about 100 voxels.
        EXPECT_NEAR(b, voxel[axes.b], 1e-4);
        EXPECT_NEAR(c, voxel[axes.c], 1e-4);
      }
    }
  }
}

TEST(JosephView, PlanesBehindTheSourceDoNotCount) {
  VolumeGrid grid = Grid();
  const ProjectionMatrix world = View(0);  // from +x towards -x
  const auto camera = Decompose(world);
  ASSERT_TRUE(camera.ok()) << camera.status();
  grid.origin = camera->source;
  grid.origin.x -= 10.3 * grid.spacing.x;  // the source lies between planes 10 and 11
  const JosephView view = MakeJosephView(world, kPlaneAxes[0], grid, kStack);
  EXPECT_EQ(view.first, 11);
  EXPECT_EQ(view.last, 10);
}

TEST(JosephView, AxesOfWhichNoRayIsAreLeftOut) {
  const VolumeGrid grid = CenteredGrid(40, 40, 40, {1, 1, 1});
  const auto may_be = [&](double angle, int axis) {
    const JosephView view = MakeJosephView(View(angle), kPlaneAxes[axis], grid, kStack);
    return MayBeMajor(view, axis, kStack);
  };
  EXPECT_TRUE(may_be(0, 0));
  EXPECT_FALSE(may_be(0, 1));
  EXPECT_FALSE(may_be(0, 2));
  EXPECT_TRUE(may_be(0.785, 0));  // the diagonal
  EXPECT_TRUE(may_be(0.785, 1));
  EXPECT_FALSE(may_be(1.57, 0));
  EXPECT_TRUE(may_be(1.57, 1));
}

TEST(JosephView, RaysOfAColumnSpreadWithTheirDepth) {
  const VolumeGrid grid = CenteredGrid(41, 41, 41, {2, 2, 2});
  const auto orbit = MakeCircularOrbit(
      {.views = 1, .source_to_isocenter_mm = 600, .source_to_detector_mm = 1000}, kDetector);
  ASSERT_TRUE(orbit.ok()) << orbit.status();
  const RaySteps steps = StepsAlongColumn(orbit->front(), kPlaneAxes[0], grid, kStack);
  EXPECT_NEAR(steps.c, kDetector.pitch_v_mm * 640 / 1000 / grid.spacing.z, 1e-9);
  EXPECT_NEAR(steps.b, 0, 1e-9);
}

TEST(JosephAdjointView, VoxelsLieOnTheirRays) {
  const VolumeGrid grid = Grid();
  const JosephAdjointView view = MakeJosephAdjointView(View(0.6), kPlaneAxes[0], grid, kStack);
  const double voxel[] = {3, 41, 17};
  double seen[3];
  for (int row = 0; row < 3; ++row) {
    const double* const m = view.exact_m + 4 * row;
    seen[row] = m[0] * voxel[0] + m[1] * voxel[1] + m[2] * voxel[2] + m[3];
  }
  const double w = seen[2], u = seen[0] / w, v = seen[1] / w;
  for (int axis = 0; axis < 3; ++axis) {
    const double* const d = view.rays.d + 3 * axis;
    EXPECT_NEAR(view.exact_source[axis] + w * (d[0] + d[1] * u + d[2] * v), voxel[axis], 1e-9);
  }
}

}  // namespace
}  // namespace isocenter::cuda
