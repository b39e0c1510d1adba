// Footprint projectors where conformance does not reach: columns of voxels that are cut into
// several runs, and detectors that are wide enough to be divided among threads.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "kernels/backends.h"
#include "kernels/base/units.h"
#include "kernels/cpu/projectors/footprint_view.h"
#include "kernels/ops/registry.h"

namespace isocenter::cpu {
namespace {

constexpr Shape3 kDetector{3, 230, 700};
constexpr ops::ProjectorModel kModels[] = {ops::ProjectorModel::kVoxelDriven,
                                           ops::ProjectorModel::kVoxelDrivenSplit,
                                           ops::ProjectorModel::kSeparableFootprint};

// Views from around with the detector's columns nearly along z.
std::vector<ProjectionMatrix> Matrices() {
  std::vector<ProjectionMatrix> matrices;
  for (int i = 0; i < kDetector.slow; ++i) {
    const double angle = 0.3 + 1.9 * i;
    Camera camera;
    camera.source = {750 * std::cos(angle), 750 * std::sin(angle), 4.0 - 3 * i};
    camera.depth_axis = {-std::cos(angle), -std::sin(angle), 0};
    const Vec3 across = Cross({0.01 * i, 0.01, -1}, camera.depth_axis);
    camera.u_axis = (1 / Norm(across)) * across;
    camera.v_axis = Cross(camera.depth_axis, camera.u_axis);
    camera.focal_u_px = camera.focal_v_px = 900;
    camera.principal_u_px = 348;
    camera.principal_v_px = 113;
    matrices.push_back(*NormalizeMatrix(Compose(camera)));
  }
  return matrices;
}

std::vector<float> Noise(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(random() % 2048) / 1024 - 1;
  return values;
}

// What a model makes of noise: a stack forward, a volume back.
std::vector<float> Project(ops::ProjectorModel model, bool forward, const std::string& backend,
                           int threads, const VolumeGrid& grid) {
  const auto device = *Backends().OpenDevice(backend, {.threads = threads});
  const auto session = *device->NewSession();
  auto volume = *session->NewVolume(grid);
  auto stack = *session->NewProjectionStack(kDetector, ops::StackUse::kProjections);
  const ops::ProjectorMethods& methods = Backends().projectors.at(model);
  if (forward) {
    const std::vector<float> voxels = Noise(grid.voxels(), 1);
    EXPECT_TRUE(volume->Upload(0, {voxels.data(), grid.shape()}).ok());
    EXPECT_TRUE(
        (*(*methods.forward.Find(backend))(*session))->Run(Matrices(), *volume, *stack).ok());
    std::vector<float> pixels(static_cast<size_t>(kDetector.count()));
    EXPECT_TRUE(stack->Download(0, {pixels.data(), kDetector}).ok());
    return pixels;
  }
  const std::vector<float> pixels = Noise(kDetector.count(), 2);
  EXPECT_TRUE(stack->Upload(0, {pixels.data(), kDetector}).ok());
  EXPECT_TRUE((*(*methods.back.Find(backend))(*session))->Run(Matrices(), *stack, *volume).ok());
  std::vector<float> voxels(static_cast<size_t>(grid.voxels()));
  EXPECT_TRUE(volume->Download(0, {voxels.data(), grid.shape()}).ok());
  return voxels;
}

TEST(FootprintTest, LongColumnsAgreeWithReference) {
  const VolumeGrid grid = CenteredGrid(7, 5, kRunHeight + 45, {1, 1, 1});
  for (const ops::ProjectorModel model : kModels) {
    for (const bool forward : {true, false}) {
      SCOPED_TRACE(testing::Message() << ops::ProjectorName(model) << forward);
      const auto expected = Project(model, forward, "reference", 1, grid);
      const auto got = Project(model, forward, "cpu", 2, grid);
      double square = 0, largest = 0;
      for (size_t i = 0; i < got.size(); ++i) {
        square += double{expected[i]} * double{expected[i]};
        largest = std::max(largest, std::abs(double{got[i]} - double{expected[i]}));
      }
      // Positions to 1e-4 of a pixel, slopes of about the values themselves.
      EXPECT_LT(largest, 1e-3 * std::sqrt(square / static_cast<double>(got.size())));
    }
  }
}

TEST(FootprintTest, DividingTheDetectorChangesNothing) {
  const VolumeGrid grid = CenteredGrid(90, 70, 21, {5, 5, 2});
  for (const ops::ProjectorModel model : kModels) {
    SCOPED_TRACE(ops::ProjectorName(model));
    const auto expected = Project(model, true, "cpu", 1, grid);
    EXPECT_TRUE(Project(model, true, "cpu", 2, grid) == expected);
    EXPECT_TRUE(Project(model, true, "cpu", 5, grid) == expected);
  }
}

// A view along x from 750 mm away, columns along z: 1.5 pixels per voxel.
FootprintView SideView() {
  FootprintView view{};
  view.matrix.m = {-0.2, 1.5, 0, 150, -0.2, 0, 1.5, 150, -1.0 / 750, 0, 0, 1};
  view.axial = 2;
  view.rows = view.columns = 301;
  view.mass = 1;
  return view;
}

TEST(DescribeTest, TellsRunsApart) {
  RunGeometry geometry;
  const VoxelRun run{0, 0, -40, 80};
  const ColumnRange all{0, 301};
  for (const Footprint footprint : {Footprint::kHat, Footprint::kTrapezoid}) {
    EXPECT_EQ(Describe(SideView(), footprint, run, all, geometry), RunKind::kRegular);
    EXPECT_EQ(Describe(SideView(), footprint, run, {0, 140}, geometry), RunKind::kUnseen);
    EXPECT_EQ(Describe(SideView(), footprint, {0, 0, 120, 80}, all, geometry), RunKind::kUnseen);
    // Behind the source, and close to it.
    EXPECT_EQ(Describe(SideView(), footprint, {760, 0, -40, 80}, all, geometry), RunKind::kOther);
    EXPECT_EQ(Describe(SideView(), footprint, {745, 0, -40, 80}, all, geometry), RunKind::kOther);
    // z along the rows of the detector.
    FootprintView turned = SideView();
    std::swap_ranges(turned.matrix.m.begin(), turned.matrix.m.begin() + 4,
                     turned.matrix.m.begin() + 4);
    EXPECT_EQ(Describe(turned, footprint, run, all, geometry), RunKind::kOther);
  }
}

}  // namespace
}  // namespace isocenter::cpu
