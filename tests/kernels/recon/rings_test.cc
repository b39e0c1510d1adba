// Rings of a finished volume: around which axis, in how much memory, and what is refused.
#include "kernels/recon/rings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/geometry/orbit_axis.h"
#include "tests/kernels/recon/iterative/small_scan.h"

namespace isocenter::recon {
namespace {

using testing::HasSubstr;

Trajectory Circle() {
  return *MakeCircularOrbit({.views = 40,
                             .source_to_isocenter_mm = 600,
                             .source_to_detector_mm = 1000,
                             .start_angle = 0,
                             .arc = DegreesToRadians(351)},
                            {.columns = 64, .rows = 64, .pitch_u_mm = 2, .pitch_v_mm = 2});
}

/// A ring of 20 HU and 10 mm around the world's z in a grid whose middle is elsewhere.
VolumeGrid Grid() {
  VolumeGrid grid = CenteredGrid(45, 41, 20, {1, 1, 1});
  grid.origin = grid.origin + Vec3{5.3, -3, 40};
  return grid;
}
std::vector<float> Ring(const VolumeGrid& grid) {
  std::vector<float> volume;
  for (int64_t at = 0; at < grid.voxels(); ++at) {
    const Vec3 p = grid.VoxelToWorld(double(at % grid.nx), double(at / grid.nx % grid.ny), 0);
    volume.push_back(20 * static_cast<float>(std::exp(-std::pow(std::hypot(p.x, p.y) - 10, 2))));
  }
  return volume;
}

float Largest(const std::vector<float>& volume) {
  float largest = 0;
  for (const float value : volume) largest = std::max(largest, std::abs(value));
  return largest;
}

TEST(RemoveRings, AreAroundTheWorldsAxis) {
  const VolumeGrid grid = Grid();
  std::vector<float> volume = Ring(grid);
  const auto device = OpenDevice("cpu");
  const float before = Largest(volume);
  const auto rings =
      RemoveRings(Circle(), grid, TestRegistry(), *device, {volume.data(), grid.shape()});
  ASSERT_TRUE(rings.ok()) << rings.status();
  EXPECT_LT(Largest(volume), 4);
  EXPECT_NEAR(rings->most_hu, before, 4);
  EXPECT_GT(rings->rms_hu, 0);
  EXPECT_LT(rings->rms_hu, rings->most_hu);
  EXPECT_EQ(ToText(RingsTakenOff{1.5, 20.25}),
            "rings: 1.5 HU (RMS), 20.2 HU at most, were taken off the volume");
}

TEST(RemoveRings, AreTheSameInAnyMemory) {
  const VolumeGrid grid = Grid();
  std::vector<float> whole = Ring(grid), parts = whole;
  const auto ample = OpenDevice("cpu");
  ASSERT_TRUE(
      RemoveRings(Circle(), grid, TestRegistry(), *ample, {whole.data(), grid.shape()}).ok());
  const ops::RingSpec spec{.grid = grid, .axis_i = 17, .axis_j = 23};
  const int64_t workspace =
      TestRegistry().rings.Find("cpu")->WorkspaceBytes(*ample, {.stack = {}, .grid = grid}, spec);
  const auto small = OpenDevice("cpu", workspace + ample->VolumeBytes(grid) * 3 / 4);
  ASSERT_TRUE(
      RemoveRings(Circle(), grid, TestRegistry(), *small, {parts.data(), grid.shape()}).ok());
  EXPECT_EQ(whole, parts);
  const auto none = OpenDevice("cpu", 1000);
  EXPECT_EQ(RemoveRings(Circle(), grid, TestRegistry(), *none, {parts.data(), grid.shape()})
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(RemoveRings, RefusesWhatIsIllegal) {
  const VolumeGrid grid = Grid();
  std::vector<float> volume = Ring(grid);
  const HostView3<float> view(volume.data(), grid.shape());
  const auto device = OpenDevice("cpu");
  const Trajectory tilted = TurnedToAxis(Circle(), {0, std::sin(0.06), std::cos(0.06)});
  EXPECT_THAT(
      std::string(RemoveRings(tilted, grid, TestRegistry(), *device, view).status().message()),
      testing::AllOf(HasSubstr("turned by 3.4"), HasSubstr("legal for rings is at most 2")));
  EXPECT_EQ(RemoveRings(Circle(), grid, TestRegistry(), *device, view.slices(0, 3)).status().code(),
            absl::StatusCode::kInvalidArgument);
  volume[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(
      std::string(RemoveRings(Circle(), grid, TestRegistry(), *device, view).status().message()),
      HasSubstr("has a value of nan HU; legal is finite"));
}

TEST(RemoveRings, WideVoxelsAreRefused) {
  VolumeGrid grid = Grid();
  grid.spacing = {1.2, 1.2, 5};
  EXPECT_TRUE(CheckRingVoxels(grid).ok());
  grid.spacing = {1, 1.3, 1};
  const auto device = OpenDevice("cpu", int64_t{1} << 30);
  std::vector<float> volume = Ring(grid);
  const absl::Status refused =
      RemoveRings(Circle(), grid, TestRegistry(), *device, {volume.data(), grid.shape()}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              testing::HasSubstr("1.3 mm wide; legal for rings is at most 1.2 mm"));
}

TEST(RemoveRings, VoxelsThatAreWideForThePixelsAreToldOf) {
  Acquisition acquisition{
      .detector = {.columns = 64, .rows = 48, .pitch_u_mm = 0.8, .pitch_v_mm = 1.6}};
  acquisition.trajectory = *MakeCircularOrbit(
      {.views = 20, .source_to_isocenter_mm = 750, .source_to_detector_mm = 1200, .arc = 3.4},
      acquisition.detector);
  VolumeGrid grid = Grid();
  grid.spacing = {0.99, 0.99, 5};  // pixels of 0.5 mm at the isocentre
  EXPECT_EQ(CoarseRingsText(acquisition, grid), std::nullopt);
  grid.spacing.y = 1.1;
  EXPECT_EQ(CoarseRingsText(acquisition, grid),
            "the voxels of a slice are 2.2 pixels of the detector wide (1.1 mm; a pixel is 0.5 mm "
            "at the isocentre): most of the rings that single pixels make stay; legal is at most 2 "
            "pixels, 1 mm");
}

}  // namespace
}  // namespace isocenter::recon
