#include "kernels/cuda/device/view_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace isocenter::cuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kLeastDepth = 0.25;

// From voxel indices to pixels; w changes by (x, y, z) per voxel, from `at_first` at the first.
ProjectionMatrix Depth(double at_first, double x = 0, double y = 0, double z = 0) {
  return {{1, 0, 0, 0, 0, 1, 0, 0, x, y, z, at_first}};
}

VolumeGrid Grid(int nx, int ny, int nz) { return CenteredGrid(nx, ny, nz, {1, 1, 1}); }

TEST(BatchesOfTest, FillsBatchesAndLeavesTheRestToTheLast) {
  const std::vector<ProjectionMatrix> views(7, Depth(1));
  EXPECT_THAT(BatchesOf(views, Grid(9, 9, 9), 3, kLeastDepth),
              ElementsAre(ViewBatch{0, 3, false}, ViewBatch{3, 3, false}, ViewBatch{6, 1, false}));
  EXPECT_THAT(BatchesOf(views, Grid(9, 9, 9), 32, kLeastDepth),
              ElementsAre(ViewBatch{0, 7, false}));
  EXPECT_THAT(BatchesOf({}, Grid(9, 9, 9), 32, kLeastDepth), IsEmpty());
}

TEST(BatchesOfTest, NearViewsStandAloneInTheirPlace) {
  std::vector<ProjectionMatrix> views(6, Depth(1));
  views[2] = views[3] = Depth(0.2);
  EXPECT_THAT(BatchesOf(views, Grid(9, 9, 9), 4, kLeastDepth),
              ElementsAre(ViewBatch{0, 2, false}, ViewBatch{2, 1, true}, ViewBatch{3, 1, true},
                          ViewBatch{4, 2, false}));
}

// A view is near when one corner of the grid is, whichever: ten voxels along an axis change w by
// 0.9.
TEST(BatchesOfTest, LooksAtEveryCorner) {
  const auto near = [](const ProjectionMatrix& view, const VolumeGrid& grid) {
    return BatchesOf({&view, 1}, grid, 1, kLeastDepth).front().near;
  };
  EXPECT_TRUE(near(Depth(1, -0.1), Grid(10, 1, 1)));
  EXPECT_TRUE(near(Depth(1, 0, -0.1), Grid(1, 10, 1)));
  EXPECT_TRUE(near(Depth(1, 0, 0, -0.1), Grid(1, 1, 10)));
  EXPECT_TRUE(near(Depth(1.5, -0.1, 0.1, -0.1), Grid(10, 10, 10)));
  EXPECT_FALSE(near(Depth(1, 0.1, 0.1, 0.1), Grid(10, 10, 10)));
  EXPECT_FALSE(near(Depth(1, -0.1, -0.1, -0.1), Grid(1, 1, 1)));
  EXPECT_FALSE(near(Depth(2.1, -0.1, 0, -0.1), Grid(10, 10, 10)));
}

TEST(BatchesOfTest, TakesWhatIsNotANumberForNear) {
  const ProjectionMatrix view = Depth(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(BatchesOf({&view, 1}, Grid(2, 2, 2), 1, kLeastDepth).front().near);
}

TEST(PaddedMatricesTest, MatricesBeyondTheLastSeeNothing) {
  const std::vector<ProjectionMatrix> views(2, Depth(3, 0.5));
  const ViewMatrices<4> padded = PaddedMatrices<4>(views);
  EXPECT_THAT(padded.m[1], ElementsAre(1, 0, 0, 0, 0, 1, 0, 0, 0.5f, 0, 0, 3));
  for (const int i : {2, 3}) {
    EXPECT_THAT(padded.m[i], ElementsAre(0, 0, 0, -2, 0, 0, 0, -2, 0, 0, 0, 1));
  }
}

}  // namespace
}  // namespace isocenter::cuda
