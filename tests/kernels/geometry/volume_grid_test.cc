#include "kernels/geometry/volume_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace isocenter {
namespace {

using ::testing::HasSubstr;

TEST(CenteredGrid, HasItsMiddleAtTheIsocentre) {
  const VolumeGrid grid = CenteredGrid(4, 5, 6, {1, 2, 3});
  EXPECT_EQ(grid.VoxelToWorld(1.5, 2, 2.5), (Vec3{0, 0, 0}));
  EXPECT_EQ(grid.VoxelToWorld(0, 0, 0), (Vec3{-1.5, -4, -7.5}));
  EXPECT_EQ(grid.shape(), (Shape3{6, 5, 4}));
}

TEST(VolumeGrid, WorldToVoxelInvertsVoxelToWorld) {
  VolumeGrid grid = CenteredGrid(4, 5, 6, {1, 2, 3});
  const double c = std::cos(0.7), s = std::sin(0.7);
  grid.direction = {c, -s, 0, s, c, 0, 0, 0, 1};
  const Vec3 voxel = grid.WorldToVoxel(grid.VoxelToWorld(1.25, -3, 17));
  EXPECT_NEAR(voxel.x, 1.25, 1e-12);  // a few roundings of values up to 50
  EXPECT_NEAR(voxel.y, -3, 1e-12);
  EXPECT_NEAR(voxel.z, 17, 1e-12);
}

TEST(ValidateGrid, NamesTheFieldThatIsWrong) {
  const VolumeGrid good = CenteredGrid(4, 5, 6, {1, 2, 3});
  EXPECT_TRUE(ValidateGrid(good).ok());
  const auto expect_refused = [](const VolumeGrid& grid, const char* field) {
    const absl::Status status = ValidateGrid(grid);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << field;
    EXPECT_THAT(std::string(status.message()), HasSubstr(field));
  };
  VolumeGrid grid = good;
  grid.ny = 0;
  expect_refused(grid, "grid.ny is 0");
  grid = good;
  grid.nz = 4097;
  expect_refused(grid, "grid.nz is 4097");
  grid = good;
  grid.spacing.x = std::nan("");
  expect_refused(grid, "grid.spacing_x_mm");
  grid = good;
  grid.spacing.y = 0.00009;
  expect_refused(grid, "grid.spacing_y_mm is 9e-05; legal is 0.0001 to 100");
  grid.spacing.y = 0.0001;  // a tenth of a micrometre
  EXPECT_TRUE(ValidateGrid(grid).ok());
  grid = good;
  grid.origin.z = 1e300;
  expect_refused(grid, "grid.origin_z_mm");
  grid = good;
  grid.direction = {1, 0, 0, 0, 1, 0, 0, 0, -1};
  expect_refused(grid, "determinant");
  grid.direction = {1, 0, 0, 0, 1, 0.001, 0, 0, 1};
  expect_refused(grid, "grid.direction");
  grid.direction[4] = std::nan("");
  expect_refused(grid, "grid.direction");
}

}  // namespace
}  // namespace isocenter
