#include "kernels/recon/preview.h"

#include <gtest/gtest.h>

#include <cmath>

namespace isocenter::recon {
namespace {

void ExpectNear(Vec3 a, Vec3 b) {
  EXPECT_NEAR(a.x, b.x, 1e-9);
  EXPECT_NEAR(a.y, b.y, 1e-9);
  EXPECT_NEAR(a.z, b.z, 1e-9);
}

// Its edges, half a voxel beyond the outermost centres, are those of the grid but for the thin
// axis.
void ExpectCovers(const VolumeGrid& plane, const VolumeGrid& grid) {
  const auto corner = [](const VolumeGrid& g, bool far_x, bool far_y, bool far_z) {
    return g.VoxelToWorld(far_x ? g.nx - 0.5 : -0.5, far_y ? g.ny - 0.5 : -0.5,
                          far_z ? g.nz - 0.5 : -0.5);
  };
  const Vec3 thin{plane.nx == 1 ? 0.5 * (grid.nx - 1) : 0, plane.ny == 1 ? 0.5 * (grid.ny - 1) : 0,
                  plane.nz == 1 ? 0.5 * (grid.nz - 1) : 0};
  for (int i = 0; i < 8; ++i) {
    const bool x = i & 1, y = i & 2, z = i & 4;
    const auto edge = [](int count, int plane_count, bool far, double middle) {
      return plane_count == 1 ? middle + (far ? 0.5 : -0.5) : far ? count - 0.5 : -0.5;
    };
    ExpectNear(corner(plane, x, y, z), grid.VoxelToWorld(edge(grid.nx, plane.nx, x, thin.x),
                                                         edge(grid.ny, plane.ny, y, thin.y),
                                                         edge(grid.nz, plane.nz, z, thin.z)));
  }
}

TEST(PlaneGrid, GoesThroughTheMiddleAndCoversTheGrid) {
  const double c = std::cos(0.3), s = std::sin(0.3);
  VolumeGrid grid{.nx = 200, .ny = 300, .nz = 1000, .spacing = {0.5, 0.4, 0.2}};
  grid.origin = {-40, 12, 7};
  grid.direction = {c, -s, 0, s, c, 0, 0, 0, 1};
  const VolumeGrid axial = PlaneGrid(grid, PlaneOrientation::kAxial);
  EXPECT_EQ(axial.shape(), (Shape3{1, 256, 200}));
  EXPECT_EQ(axial.spacing.x, 0.5);
  EXPECT_DOUBLE_EQ(axial.spacing.y, 0.4 * 300 / 256);
  const VolumeGrid coronal = PlaneGrid(grid, PlaneOrientation::kCoronal);
  EXPECT_EQ(coronal.shape(), (Shape3{256, 1, 200}));
  EXPECT_DOUBLE_EQ(coronal.spacing.z, 0.2 * 1000 / 256);
  const VolumeGrid sagittal = PlaneGrid(grid, PlaneOrientation::kSagittal);
  EXPECT_EQ(sagittal.shape(), (Shape3{256, 256, 1}));
  for (const VolumeGrid& plane : {axial, coronal, sagittal}) {
    EXPECT_TRUE(ValidateGrid(plane).ok());
    ExpectCovers(plane, grid);
  }
}

TEST(PlaneGrid, OfASmallGridIsASliceOfIt) {
  const VolumeGrid grid = CenteredGrid(5, 7, 9, {1, 2, 3});
  const VolumeGrid plane = PlaneGrid(grid, PlaneOrientation::kCoronal);
  EXPECT_EQ(plane.shape(), (Shape3{9, 1, 5}));
  EXPECT_EQ(plane.spacing, grid.spacing);
  ExpectNear(plane.VoxelToWorld(4, 0, 8), grid.VoxelToWorld(4, 3, 8));
}

}  // namespace
}  // namespace isocenter::recon
