// Projectors of the reference backend against cases small enough to compute by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/kernels/reference/reference_backend.h"

namespace isocenter {
namespace {

using ops::ProjectorModel;

// Source at x = 2, detector 4 mm from it with 1 mm pixels: u = 1 + 4·y/(2 - x),
// v = 1 + 4·z/(2 - x), w = (2 - x)/2; the ray of (u, v) is (2, 0, 0) + w·(-2, (u-1)/2, (v-1)/2).
const ProjectionMatrix kSimple{{-0.5, 2, 0, 1, -0.5, 0, 2, 1, -0.5, 0, 0, 1}};

class ReferenceProjectors : public ReferenceBackend {
 protected:
  std::vector<float> Projected(ProjectorModel model, const VolumeGrid& grid,
                               const std::vector<float>& voxels, Shape3 detector) {
    auto stack = *session_->NewProjectionStack(detector, ops::StackUse::kProjections);
    auto operation = *(*registry_.projectors[model].forward.Find("reference"))(*session_);
    const auto status = operation->Run(std::span(&kSimple, 1), *Filled(grid, voxels), *stack);
    EXPECT_TRUE(status.ok()) << status;
    return Values(*stack);
  }
  std::vector<float> Backprojected(ProjectorModel model, const VolumeGrid& grid,
                                   const std::vector<float>& pixels, Shape3 detector) {
    auto volume = *session_->NewVolume(grid);
    auto operation = *(*registry_.projectors[model].back.Find("reference"))(*session_);
    const auto status = operation->Run(std::span(&kSimple, 1), *Filled(detector, pixels), *volume);
    EXPECT_TRUE(status.ok()) << status;
    return Values(*volume);
  }
};

// 3x3x1 voxels of 1 mm around the isocentre, x and y from -1 to 1.
const VolumeGrid kNine = CenteredGrid(3, 3, 1, {1, 1, 1});
std::vector<float> OneVoxel(int x, int y) {
  std::vector<float> voxels(9);
  voxels[(y + 1) * 3 + (x + 1)] = 1;
  return voxels;
}
// Row 1 of it has v = 1, the plane z = 0.
constexpr Shape3 kSeven{1, 3, 7};

TEST_F(ReferenceProjectors, RaysAlongAnAxisHaveTheLengthOfTheVoxels) {
  for (const ProjectorModel model : {ProjectorModel::kJoseph, ProjectorModel::kSiddon}) {
    const VolumeGrid grid = CenteredGrid(3, 3, 1, {0.5, 1, 1});
    EXPECT_FLOAT_EQ(Projected(model, grid, OneVoxel(0, 0), kSeven)[7 + 1], 0.5f);
    EXPECT_FLOAT_EQ(Projected(model, grid, std::vector<float>(9, 1), kSeven)[7 + 1], 1.5f);
    EXPECT_FLOAT_EQ(Projected(model, grid, OneVoxel(0, 1), kSeven)[7 + 1], 0);
  }
}

TEST_F(ReferenceProjectors, JosephInterpolatesWhereTheRayCrossesPlanes) {
  // Column 2: y = (2 - x)/4, so 1/4, 1/2 and 3/4 at x = 1, 0 and -1; √17/4 between two planes.
  const double length = std::sqrt(17.0) / 4;
  const auto seen = [&](int x, int y) {
    return Projected(ProjectorModel::kJoseph, kNine, OneVoxel(x, y), kSeven)[7 + 2];
  };
  EXPECT_FLOAT_EQ(seen(1, 0), 0.75 * length);
  EXPECT_FLOAT_EQ(seen(1, 1), 0.25 * length);
  EXPECT_FLOAT_EQ(seen(0, 0), 0.5 * length);
  EXPECT_FLOAT_EQ(seen(0, 1), 0.5 * length);
  EXPECT_FLOAT_EQ(seen(-1, 0), 0.25 * length);
  EXPECT_FLOAT_EQ(seen(-1, 1), 0.75 * length);
  EXPECT_FLOAT_EQ(seen(1, -1), 0);
}

TEST_F(ReferenceProjectors, JosephBlendsWithZeroBesideTheGrid) {
  // One row of voxels. Columns 0 and 2: y = ∓(2 - x)/4, so 1/4, 1/2 and 3/4 aside at x = 1, 0, -1.
  const auto p =
      Projected(ProjectorModel::kJoseph, CenteredGrid(3, 1, 1, {1, 1, 1}), {1, 2, 4}, kSeven);
  const double expected = (0.75 * 4 + 0.5 * 2 + 0.25 * 1) * std::sqrt(17.0) / 4;
  EXPECT_FLOAT_EQ(p[7 + 0], expected);
  EXPECT_FLOAT_EQ(p[7 + 2], expected);
}

TEST_F(ReferenceProjectors, JosephTakesTheFirstAxisOfEquals) {
  // Column 5: y = 2 - x. Voxels at x = -1/2, 1/2, 3/2: the planes are crossed at y = 5/2, 3/2 and
  // 1/2. By planes of y, the one at y = 1 would be crossed at x = 1, and that at y = 0 in the
  // source.
  VolumeGrid grid = kNine;
  grid.origin.x = -0.5;
  std::vector<float> voxels(9);
  std::iota(voxels.begin(), voxels.end(), 1);
  const double at_half = 0.5 * 8, at_three_halves = 0.5 * (6 + 9);
  EXPECT_FLOAT_EQ(Projected(ProjectorModel::kJoseph, grid, voxels, kSeven)[7 + 5],
                  (at_half + at_three_halves) * std::sqrt(2.0));
}

TEST_F(ReferenceProjectors, SiddonMeasuresTheLengthInEachVoxel) {
  // Column 2: y = (2 - x)/4 crosses y = 1/2 at x = 0; √17/4 for each millimetre along x.
  const double length = std::sqrt(17.0) / 4;
  const auto seen = [&](int x, int y) {
    return Projected(ProjectorModel::kSiddon, kNine, OneVoxel(x, y), kSeven)[7 + 2];
  };
  EXPECT_FLOAT_EQ(seen(1, 0), length);
  EXPECT_NEAR(seen(1, 1), 0, 1e-12);
  EXPECT_FLOAT_EQ(seen(0, 0), 0.5 * length);
  EXPECT_FLOAT_EQ(seen(0, 1), 0.5 * length);
  EXPECT_NEAR(seen(-1, 0), 0, 1e-12);
  EXPECT_FLOAT_EQ(seen(-1, 1), length);
}

TEST_F(ReferenceProjectors, RaysBeginAtTheSource) {
  // Voxels from x = -4 to 4: the source is in the middle of the one at x = 2.
  const VolumeGrid grid = CenteredGrid(9, 1, 1, {1, 1, 1});
  const std::vector<float> ones(9, 1);
  EXPECT_FLOAT_EQ(Projected(ProjectorModel::kJoseph, grid, ones, kSeven)[7 + 1], 6);
  EXPECT_FLOAT_EQ(Projected(ProjectorModel::kSiddon, grid, ones, kSeven)[7 + 1], 6.5f);
}

TEST_F(ReferenceProjectors, VoxelDrivenSpreadsTheMassOverFourPixels) {
  // w = 1/2, u = 1.4, v = 0.8; |det M| = 2, V = 0.3 mm³, |x - s| = √1.0125 mm.
  const VolumeGrid grid{
      .nx = 1, .ny = 1, .nz = 1, .spacing = {0.5, 2, 0.3}, .origin = {1, 0.1, -0.05}};
  const double mass = 0.3 * 2 * std::sqrt(1.0125) / 0.125;
  const auto p = Projected(ProjectorModel::kVoxelDriven, grid, {1}, {1, 3, 3});
  const double expected[] = {0, 0.12, 0.08, 0, 0.48, 0.32, 0, 0, 0};
  for (int i = 0; i < 9; ++i) EXPECT_NEAR(p[i], expected[i] * mass, 1e-6) << i;
}

TEST_F(ReferenceProjectors, VoxelDrivenLosesWhatFallsBesideTheDetector) {
  const VolumeGrid grid{.nx = 1, .ny = 1, .nz = 1, .origin = {0, -0.625, 0}};  // u = -1/4, v = 1
  const auto p = Projected(ProjectorModel::kVoxelDriven, grid, {1}, {1, 3, 3});
  const double mass = 2 * std::sqrt(4 + 0.625 * 0.625);
  EXPECT_NEAR(p[3], 0.75 * mass, 1e-6);
  EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 0.75 * mass, 1e-6);
}

TEST_F(ReferenceProjectors, SplitVoxelIsEightSmallOnes) {
  const VolumeGrid whole{.nx = 1, .ny = 1, .nz = 1, .spacing = {1, 0.6, 0.8}};
  VolumeGrid eight = CenteredGrid(2, 2, 2, {0.5, 0.3, 0.4});
  const Shape3 detector{1, 5, 5};
  const auto p = Projected(ProjectorModel::kVoxelDrivenSplit, whole, {1}, detector);
  const auto expected =
      Projected(ProjectorModel::kVoxelDriven, eight, std::vector<float>(8, 1), detector);
  for (size_t i = 0; i < p.size(); ++i) EXPECT_FLOAT_EQ(p[i], expected[i]) << i;
  EXPECT_GT(p[6], 0);
}

TEST_F(ReferenceProjectors, SeparableFootprintOfTheVoxelAtTheIsocentre) {
  // z is the axial axis. The edges (±1/2, ±1/2) are seen at u = 1 ± 4/3 and 1 ± 4/5, the ends of z
  // at v = 0 and 2; the mass is 1·2·2/1 = 4, spread over ((8/3 + 8/5)/2)·2 = 64/15 pixels.
  const VolumeGrid grid{.nx = 1, .ny = 1, .nz = 1};
  const auto p = Projected(ProjectorModel::kSeparableFootprint, grid, {1}, {1, 5, 5});
  const double height = 4 / (64.0 / 15);
  // Column 0, [-1/2, 1/2]: a rise of width 8/15, then height 1 from u = 1/5.
  const double edge = 0.5 * 8 / 15 + 0.3;
  const double across[] = {edge, 1, edge, 0, 0}, along[] = {0.5, 1, 0.5, 0, 0};
  for (int v = 0; v < 5; ++v) {
    for (int u = 0; u < 5; ++u) {
      EXPECT_NEAR(p[5 * v + u], height * across[u] * along[v], 1e-6) << u << " " << v;
    }
  }
}

TEST_F(ReferenceProjectors, SeparableFootprintKeepsTheMass) {
  // Anisotropic, off the axis, far inside the detector.
  const VolumeGrid grid{
      .nx = 1, .ny = 1, .nz = 1, .spacing = {0.4, 0.7, 0.5}, .origin = {0.3, 3.1, 2.7}};
  const auto p = Projected(ProjectorModel::kSeparableFootprint, grid, {1}, {1, 20, 20});
  const double w = (2 - 0.3) / 2;
  const double mass = 0.14 * 2 * std::sqrt(1.7 * 1.7 + 3.1 * 3.1 + 2.7 * 2.7) / (w * w * w);
  EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), mass, 1e-5);
}

TEST_F(ReferenceProjectors, NothingIsSeenBehindTheSource) {
  const VolumeGrid behind{.nx = 1, .ny = 1, .nz = 1, .origin = {4, 0, 0}};
  // Centre in front, a corner behind.
  const VolumeGrid across{.nx = 1, .ny = 1, .nz = 1, .spacing = {1, 1, 1}, .origin = {1.6, 0, 0}};
  for (const ProjectorModel model : ops::kProjectorModels) {
    const auto p = Projected(model, behind, {1}, kSeven);
    EXPECT_EQ(p, std::vector<float>(21)) << ops::ProjectorName(model);
  }
  EXPECT_EQ(Projected(ProjectorModel::kSeparableFootprint, across, {1}, kSeven),
            std::vector<float>(21));
}

// Column by column: what a voxel gives to the pixels is what the pixels give to it.
TEST_F(ReferenceProjectors, BackprojectionIsTheTranspose) {
  VolumeGrid grid = CenteredGrid(3, 4, 3, {0.5, 0.6, 0.7});
  const Shape3 detector{1, 5, 4};
  for (const ProjectorModel model : ops::kProjectorModels) {
    SCOPED_TRACE(ops::ProjectorName(model));
    std::vector<std::vector<float>> rows;
    for (int pixel = 0; pixel < 20; ++pixel) {
      std::vector<float> one(20);
      one[pixel] = 1;
      rows.push_back(Backprojected(model, grid, one, detector));
    }
    double sum = 0;
    for (int voxel = 0; voxel < 36; ++voxel) {
      std::vector<float> one(36);
      one[voxel] = 1;
      const auto column = Projected(model, grid, one, detector);
      for (int pixel = 0; pixel < 20; ++pixel) {
        EXPECT_FLOAT_EQ(rows[pixel][voxel], column[pixel]) << pixel << " " << voxel;
        sum += column[pixel];
      }
    }
    EXPECT_GT(sum, 1);
  }
}

TEST_F(ReferenceProjectors, AddsToWhatIsThere) {
  const VolumeGrid grid{.nx = 1, .ny = 1, .nz = 1};
  const Shape3 one_pixel{2, 1, 1};  // of which one view is projected
  // kSimple with the principal point in pixel (0, 0).
  const ProjectionMatrix centred{{0, 2, 0, 0, 0, 0, 2, 0, -0.5, 0, 0, 1}};
  for (const ProjectorModel model : {ProjectorModel::kJoseph, ProjectorModel::kSiddon}) {
    auto stack = Filled(one_pixel, {10, 20});
    auto volume = Filled(grid, {3});
    auto forward = *(*registry_.projectors[model].forward.Find("reference"))(*session_);
    auto back = *(*registry_.projectors[model].back.Find("reference"))(*session_);
    ASSERT_TRUE(forward->Run(std::span(&centred, 1), *volume, *stack).ok());
    EXPECT_EQ(Values(*stack), (std::vector<float>{13, 20}));
    ASSERT_TRUE(back->Run(std::span(&centred, 1), *stack, *volume).ok());
    EXPECT_EQ(Values(*volume), (std::vector<float>{16}));
    const ProjectionMatrix three[] = {centred, centred, centred};
    EXPECT_EQ(forward->Run(three, *volume, *stack).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(back->Run(three, *stack, *volume).code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace isocenter
