#include "kernels/scatter/object.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/scatter/make_object.h"

namespace isocenter::scatter {
namespace {

// Cells of 10 mm, of densities that tell where they are.
Object Numbered(int nx, int ny, int nz) {
  const VolumeGrid grid = CenteredGrid(nx, ny, nz, {10, 10, 10});
  std::vector<Object::Cell> cells;
  for (int i = 0; i < nx * ny * nz; ++i) cells.push_back({1.f + static_cast<float>(i), 0.5f});
  return {grid, cells};
}

TEST(Object, AddsUpWhatARayPasses) {
  const Object object = Numbered(3, 2, 1);
  // Along x through the first row: 1 + 2 + 3 g/cm³ of 1 cm each.
  PerTissue mass = object.Along({-100, -5, 0}, {1, 0, 0});
  EXPECT_NEAR(mass[kWater], 6, 1e-12);
  EXPECT_NEAR(mass[kBone], 1.5, 1e-12);
  mass = object.Along({100, -5, 0}, {-1, 0, 0});
  EXPECT_NEAR(mass[kWater], 6, 1e-12);
  // From inside, and past it.
  EXPECT_NEAR(object.Along({0, -5, 0}, {1, 0, 0})[kWater], 1 + 3, 1e-12);
  EXPECT_EQ(object.Along({-100, 15, 0}, {1, 0, 0})[kWater], 0);
  EXPECT_EQ(object.Along({-100, -5, 0}, {-1, 0, 0})[kWater], 0);
  // Across a corner: half of a diagonal in each of two cells.
  const double half = std::sqrt(0.5);
  EXPECT_NEAR(object.Along({-20, -15, 0}, {half, half, 0})[kWater], std::sqrt(2) * (1 + 5), 1e-9);
}

TEST(Object, FindsWhereADepthIsReached) {
  const Object object = Numbered(3, 2, 1);
  const PerTissue only_water = {0.1, 0};
  EXPECT_NEAR(object.DistanceTo({-100, -5, 0}, {1, 0, 0}, only_water, 0.2), 100 - 15 + 10 + 5,
              1e-9);
  EXPECT_TRUE(std::isinf(object.DistanceTo({-100, -5, 0}, {1, 0, 0}, only_water, 0.61)));
  EXPECT_EQ(object.At({-10, -5, 0}), (PerTissue{1, 0.5}));
  EXPECT_EQ(object.At({10, 5, 4}), (PerTissue{6, 0.5}));
}

TEST(MakeObject, VoxelsBecomeWaterOrBoneThatAttenuatesAsTheirHu) {
  const CrossSections sections;
  const Beam beam{.kev = {60}, .share = {1}, .effective_kev = 60};
  const VolumeGrid voxels = CenteredGrid(4, 2, 2, {2, 2, 2});
  std::vector<float> hu(16, -1000);
  for (int k = 0; k < 2; ++k) {
    for (int j = 0; j < 2; ++j) {
      hu[(k * 2 + j) * 4 + 0] = -100;
      hu[(k * 2 + j) * 4 + 1] = 50;
      hu[(k * 2 + j) * 4 + 2] = 1000;
    }
  }
  const Object object = MakeObject(voxels, {hu.data(), voxels.shape()}, beam, sections);
  EXPECT_NEAR(object.At({-3, 1, 1})[kWater], 0.9, 1e-6);
  EXPECT_NEAR(object.At({-1, 1, 1})[kWater], 1.05, 1e-6);
  EXPECT_EQ(object.At({-1, 1, 1})[kBone], 0);
  EXPECT_EQ(object.At({1, 1, 1})[kWater], 0);
  EXPECT_NEAR(object.At({1, 1, 1})[kBone] * sections.Total(60)[kBone],
              sections.Total(60)[kWater] * 2.0, 1e-6);
  EXPECT_EQ(object.At({3, 1, 1}), PerTissue{});  // air
  EXPECT_NEAR(object.Along({-50, 0.5, 0.5}, {1, 0, 0})[kWater], 0.2 * (0.9 + 1.05), 1e-6);
}

}  // namespace
}  // namespace isocenter::scatter
