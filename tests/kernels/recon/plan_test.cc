#include "kernels/recon/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "kernels/base/units.h"
#include "kernels/ops/registry.h"
#include "kernels/reference/register.h"
#include "tests/kernels/recon/own_memory_device.h"

namespace isocenter::recon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ops::Registry& TestRegistry() {
  static const auto* const registry = [] {
    auto* made = new ops::Registry;
    reference::Register(*made);
    return made;
  }();
  return *registry;
}

std::unique_ptr<ops::Device> OpenReference(int64_t memory_bytes = 0) {
  return *TestRegistry().OpenDevice("reference", {.memory_bytes = memory_bytes});
}

Acquisition CircleOf(int views) {
  Acquisition acquisition{
      .detector = {.columns = 24, .rows = 16, .pitch_u_mm = 8, .pitch_v_mm = 8}};
  acquisition.trajectory = *MakeCircularOrbit({.views = views,
                                               .source_to_isocenter_mm = 750,
                                               .source_to_detector_mm = 1200,
                                               .arc = 2 * kPi * (views - 1) / views},
                                              acquisition.detector);
  return acquisition;
}

const VolumeGrid kGrid = CenteredGrid(8, 8, 8, {4, 4, 4});

TEST(Plan, ChunksCoverAllViewsInOrderAndEndSmall) {
  const auto device = OpenReference();
  for (int views : {2, 3, 7, 15, 16, 17, 31, 32, 33, 100, 496}) {
    const auto plan = MakePlan(CircleOf(views), kGrid, {}, TestRegistry(), *device);
    ASSERT_TRUE(plan.ok()) << plan.status();
    int next = 0;
    for (const Chunk& chunk : plan->chunks) {
      EXPECT_EQ(chunk.first_view, next);
      EXPECT_GE(chunk.views, 1);
      EXPECT_LE(chunk.views, 16);
      next += chunk.views;
    }
    EXPECT_EQ(next, views);
    if (views >= 16) {
      EXPECT_LE(plan->chunks.back().views, 4) << views;
    }
  }
}

std::vector<int> ViewsOfChunks(int views, Arrival arrival, int chunk_views = 8) {
  const OwnMemoryDevice device(0, chunk_views);
  std::vector<int> sizes;
  int next = 0;
  const auto plan = *MakePlan(CircleOf(views), kGrid, {}, TestRegistry(), device, arrival);
  for (const Chunk& chunk : plan.chunks) {
    EXPECT_EQ(chunk.first_view, next);
    sizes.push_back(chunk.views);
    next += chunk.views;
  }
  EXPECT_EQ(next, views);
  return sizes;
}

TEST(Plan, ADeviceWithOwnMemoryGetsSmallChunksWhileFramesArrive) {
  EXPECT_THAT(ViewsOfChunks(24, Arrival::kStreamed), ElementsAre(6, 6, 6, 4, 2));
  EXPECT_THAT(ViewsOfChunks(26, Arrival::kStreamed), ElementsAre(6, 6, 6, 2, 4, 2));
  EXPECT_THAT(ViewsOfChunks(6, Arrival::kStreamed), ElementsAre(4, 2));
  EXPECT_THAT(ViewsOfChunks(3, Arrival::kStreamed), ElementsAre(3));
  EXPECT_THAT(ViewsOfChunks(26, Arrival::kComplete), ElementsAre(8, 8, 8, 2));
}

// Until the first chunk has arrived the device has nothing to do: figure 3 of Zinsser & Keck
// (2013), whose 496 views come out even.
TEST(Plan, ADeviceWithOwnMemoryBeginsWithSmallChunksOfACompleteScan) {
  std::vector<int> expected{8, 16, 24};
  expected.resize(3 + 14, 32);
  EXPECT_EQ(ViewsOfChunks(496, Arrival::kComplete, 32), expected);
  // What is left at the end is less.
  EXPECT_THAT(ViewsOfChunks(120, Arrival::kComplete, 32), ElementsAre(8, 16, 24, 32, 32, 8));
  // Of few views it would make more chunks and gain nothing.
  EXPECT_THAT(ViewsOfChunks(63, Arrival::kComplete, 32), ElementsAre(32, 31));
  // Only what is smaller than a chunk.
  EXPECT_THAT(ViewsOfChunks(64, Arrival::kComplete, 16), ElementsAre(8, 16, 16, 16, 8));
}

TEST(Plan, PeakBytesAreWhatTheDeviceSaysAndTheLimitHolds) {
  const auto plan = *MakePlan(CircleOf(40), kGrid, {}, TestRegistry(), *OpenReference());
  // Volume, two stacks of 16 views, and three planes of a preview, in float64.
  EXPECT_EQ(plan.peak_bytes, 8 * (8 * 8 * 8 + 2 * 16 * 24 * 16 + 3 * 8 * 8));
  EXPECT_TRUE(
      MakePlan(CircleOf(40), kGrid, {}, TestRegistry(), *OpenReference(plan.peak_bytes)).ok());
  const auto refused =
      MakePlan(CircleOf(40), kGrid, {}, TestRegistry(), *OpenReference(plan.peak_bytes - 1));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.status().message(),
              HasSubstr("needs 101.5 KiB of memory; the limit is 101.5 KiB"));
}

TEST(Plan, WeightsOfAFullCircleAddUpToHalfAsManyRadians) {
  const auto plan = *MakePlan(CircleOf(40), kGrid, {}, TestRegistry(), *OpenReference());
  EXPECT_TRUE(plan.full_scan);
  double sum = 0;
  for (int view = 0; view < 40; ++view) sum += plan.column_weight[view * 24 + 5];
  // π radians for the redundancy of one half, times 1200/750 over 8 mm pixels at the isocentre.
  EXPECT_NEAR(sum, kPi * (1200.0 / 750.0) / 8.0, 1e-5);
}

// What it filters reaches as far on both sides of the axis; what arrives begins where whole vectors
// do.
TEST(Plan, WidensADisplacedDetector) {
  const auto device = OpenReference();
  Acquisition acquisition = CircleOf(60);
  for (const bool after : {true, false}) {
    acquisition.trajectory = *MakeCircularOrbit({.views = 60,
                                                 .source_to_isocenter_mm = 750,
                                                 .source_to_detector_mm = 1200,
                                                 .arc = 2 * kPi * 59 / 60,
                                                 .offset_u_px = after ? 3. : -3.},
                                                acquisition.detector);
    const auto plan = MakePlan(acquisition, kGrid, {}, TestRegistry(), *device);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->first_column, after ? 0 : 16);
    EXPECT_EQ(plan->filtered_detector.columns, after ? 24 + 6 : 16 + 24);
    EXPECT_EQ(plan->column_weight.size(), 60 * 24);
    EXPECT_GT(plan->peak_bytes,
              MakePlan(CircleOf(60), kGrid, {}, TestRegistry(), *device)->peak_bytes);
  }
}

TEST(Plan, KnowsItsMethodsAndRefusesOthers) {
  const auto plan = *MakePlan(CircleOf(40), kGrid, {}, TestRegistry(), *OpenReference());
  EXPECT_THAT(plan.methods, HasSubstr("back-projection voxel"));
  const auto refused = MakePlan(CircleOf(40), kGrid, {.backproject_method = "staged"},
                                TestRegistry(), *OpenReference());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(refused.status().message(),
              HasSubstr("no method 'staged' for backend 'reference'; there are: voxel"));
}

TEST(Plan, HostBytesAreOfAllThatAJobHolds) {
  const Acquisition acquisition = CircleOf(40);
  const auto device = OpenReference();
  const ops::Device* const devices[] = {device.get()};
  const auto plan =
      *MakePlan(acquisition, kGrid, {}, TestRegistry(), devices, Arrival::kStreamed, 6);
  // A chunk of 16 frames of 16 bits and six on their way, the volume, and a weight for each view's
  // columns.
  EXPECT_EQ(plan.host_bytes, (16 + 6) * 24 * 16 * 2 + 8 * 8 * 8 * 4 + 40 * 24 * 4);
}

TEST(Plan, ItsOutlineIsTheSameWithoutWeights) {
  const auto device = OpenReference();
  const ops::Device* const devices[] = {device.get()};
  for (const int views : {40, 500}) {
    Acquisition acquisition = CircleOf(views);
    // Turned, so that every view has a fan of its own, and off the middle.
    for (ProjectionMatrix& matrix : acquisition.trajectory) {
      for (int i = 0; i < 4; ++i) matrix.m[i] += 3 * matrix(2, i);
    }
    const auto plan = *MakePlan(acquisition, kGrid, {}, TestRegistry(), devices);
    const auto outline = *OutlinePlan(acquisition, kGrid, {}, TestRegistry(), devices);
    EXPECT_TRUE(outline.column_weight.empty());
    EXPECT_EQ(outline.chunks, plan.chunks);
    EXPECT_EQ(outline.order, plan.order);
    EXPECT_EQ(outline.peak_bytes, plan.peak_bytes);
    EXPECT_EQ(outline.host_bytes, plan.host_bytes);
    EXPECT_EQ(outline.full_scan, plan.full_scan);
    EXPECT_NEAR(outline.arc, plan.arc, 1e-12);
    EXPECT_NEAR(outline.fan_angle, plan.fan_angle, 1e-12);
  }
}

struct BadInput {
  const char* message;
  void (*spoil)(Acquisition&, VolumeGrid&, FdkSettings&);
};

class PlanRefuses : public ::testing::TestWithParam<BadInput> {};

TEST_P(PlanRefuses, BadInputByName) {
  Acquisition acquisition = CircleOf(40);
  VolumeGrid grid = kGrid;
  FdkSettings settings;
  GetParam().spoil(acquisition, grid, settings);
  const auto plan = MakePlan(acquisition, grid, settings, TestRegistry(), *OpenReference());
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(plan.status().message(), HasSubstr(GetParam().message));
  const auto device = OpenReference();
  const ops::Device* const devices[] = {device.get()};
  EXPECT_EQ(OutlinePlan(acquisition, grid, settings, TestRegistry(), devices).status(),
            plan.status());
}

INSTANTIATE_TEST_SUITE_P(
    All, PlanRefuses,
    ::testing::Values(
        BadInput{"detector.columns is 0; legal is 1 to 8192",
                 [](Acquisition& a, VolumeGrid&, FdkSettings&) { a.detector.columns = 0; }},
        BadInput{"detector.rows is 8193; legal is 1 to 8192",
                 [](Acquisition& a, VolumeGrid&, FdkSettings&) { a.detector.rows = 8193; }},
        BadInput{"detector.pitch_u_mm is nan",
                 [](Acquisition& a, VolumeGrid&, FdkSettings&) {
                   a.detector.pitch_u_mm = std::numeric_limits<double>::quiet_NaN();
                 }},
        BadInput{"i0_counts is 0; legal is 1 to 65535",
                 [](Acquisition& a, VolumeGrid&, FdkSettings&) { a.i0_counts = 0; }},
        BadInput{"frame_count is 0; legal is 1 to 10000",
                 [](Acquisition& a, VolumeGrid&, FdkSettings&) { a.trajectory.clear(); }},
        BadInput{"matrix of frame 7",
                 [](Acquisition& a, VolumeGrid&, FdkSettings&) { a.trajectory[7].m.fill(0); }},
        BadInput{"it must be normalised to 1",
                 [](Acquisition& a, VolumeGrid&, FdkSettings&) {
                   for (double& value : a.trajectory[3].m) value *= 2;
                 }},
        BadInput{"grid.nx is 0", [](Acquisition&, VolumeGrid& g, FdkSettings&) { g.nx = 0; }},
        BadInput{"filter_cutoff is 1.5; legal is more than 0, at most 1",
                 [](Acquisition&, VolumeGrid&, FdkSettings& s) { s.cutoff = 1.5; }},
        BadInput{"mu_water_per_mm is 0.5; legal is 0.001 to 0.1",
                 [](Acquisition&, VolumeGrid&, FdkSettings& s) { s.mu_water_per_mm = 0.5; }}));

}  // namespace
}  // namespace isocenter::recon
