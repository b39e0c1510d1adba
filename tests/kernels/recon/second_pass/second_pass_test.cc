// A second pass: what it finds in a first volume, what it makes of line integrals, and what it
// takes.
#include "kernels/recon/second_pass/second_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/recon/plan_text.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/second_pass/findings.h"
#include "kernels/recon/second_pass/segment.h"
#include "tests/kernels/recon/iterative/small_scan.h"
#include "tests/kernels/recon/own_memory_device.h"

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr MetalSettings kMetal{.metal_hu = 3000, .metal_edge_hu = 2000, .least_mm3 = 20};

struct Found {
  absl::StatusOr<int64_t> voxels;
  std::vector<float> metal;
};

// In a row of cubes of 2 mm with some air around.
Found FindIn(const std::vector<float>& row, const MetalSettings& settings = kMetal) {
  const VolumeGrid grid = CenteredGrid(static_cast<int>(row.size()), 5, 5, {2, 2, 2});
  std::vector<float> hu(grid.voxels(), -1000), metal(grid.voxels(), 7);
  const int64_t at = int64_t{12} * grid.nx;
  std::copy(row.begin(), row.end(), hu.begin() + at);
  Found found{
      .voxels = FindMetal(settings, grid, {hu.data(), grid.shape()}, {metal.data(), grid.shape()})};
  if (!found.voxels.ok()) return found;
  found.metal.assign(metal.begin() + at, metal.begin() + at + grid.nx);
  std::fill_n(metal.begin() + at, grid.nx, 0.f);
  EXPECT_EQ(std::count(metal.begin(), metal.end(), 0.f), grid.voxels());
  return found;
}

TEST(FindMetal, GrowsFromDenseVoxelsToTheEdge) {
  const Found found = FindIn({0, 2500, 3500, 3500, 2100, 1900, 0, 2900, 2900, 2900, 0, 0});
  EXPECT_EQ(*found.voxels, 4);
  EXPECT_EQ(found.metal, std::vector<float>({0, 2500, 3500, 3500, 2100, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(FindMetal, AnEdgeIsHalfOfThePiece) {
  const Found found = FindIn({0, 3500, 9000, 9000, 9000, 4400, 4600, 0, 0, 0});
  EXPECT_EQ(found.metal, std::vector<float>({0, 0, 9000, 9000, 9000, 0, 4600, 0, 0, 0}));
}

TEST(FindMetal, LeavesOutSmallPiecesAndStreaks) {
  // Voxels have 8 mm³: two are too few. 4000 is less than 0.35 of 12000.
  const Found found = FindIn({5000, 5000, 0, 12000, 12000, 12000, 0, 4000, 4000, 4000, 0});
  EXPECT_EQ(*found.voxels, 3);
  EXPECT_EQ(found.metal, std::vector<float>({0, 0, 0, 12000, 12000, 12000, 0, 0, 0, 0, 0}));
}

// Two fillings beside each other, of which an upper quartile of what hangs together is a streak's;
// a third one by itself.
TEST(FindMetal, MetalThatStreaksHoldTogetherIsNoStreak) {
  std::vector<float> row = {12000, 9000};
  row.insert(row.end(), 14, 2500.f);
  row.insert(row.end(), {9000, 12000, 0, 9000, 12000, 12000, 12000, 0});
  MetalSettings settings = kMetal;
  settings.least_mm3 = 16;
  std::vector<float> expected = row;  // what is no metal is for the rays to tell
  EXPECT_EQ(FindIn(row, settings).metal, expected);
}

TEST(FindMetal, RefusesAVolumeThatIsFullOfIt) {
  const VolumeGrid grid = CenteredGrid(10, 10, 10, {1, 1, 1});
  std::vector<float> hu(1000, 0), metal(1000);
  std::fill_n(hu.begin(), 100, 4000.f);
  const HostView3<float> out(metal.data(), grid.shape());
  EXPECT_TRUE(FindMetal(kMetal, grid, {hu.data(), grid.shape()}, out).ok());
  hu[100] = 4000;
  const auto found = FindMetal(kMetal, grid, {hu.data(), grid.shape()}, out);
  EXPECT_EQ(found.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(found.status().message()), HasSubstr("101 of 1000 voxels have 2000 HU"));
}

TEST(CountPieces, CountsWhatHangsTogetherByFacesAndLeavesItAsItIs) {
  const VolumeGrid grid = CenteredGrid(3, 3, 2, {1, 1, 1});
  // Two that touch by an edge only, and one that is joined to the first through the next slice.
  std::vector<float> metal = {5, 5, 0, 0, 0, 4, 0, 0, 0, 0, 5, 0, 0, 6, 0, 0, 0, 9};
  const std::vector<float> before = metal;
  EXPECT_EQ(CountPieces(grid, {metal.data(), grid.shape()}), 3);
  EXPECT_EQ(metal, before);
}

ops::BoneTable Table(double added) {
  return {.line_integrals = 2,
          .bones = 2,
          .most_line_integral = 5,
          .most_bone_mm = 100,
          .added = {0, 0, added, added},
          .from_hu = 100,
          .full_hu = 1100};
}

TEST(Findings, TellWhatWasChangedAndByHowMuch) {
  LineChanges changes;
  const std::vector<float> before = {1, 2, 3, 4}, after = {1, 1, 3, 2};
  changes.Add(before, after);
  EXPECT_EQ(changes.changed_share(), 0.5);
  EXPECT_EQ(changes.mean_fall(), 1.5);
  EXPECT_NEAR(changes.rms(), std::sqrt(5. / 4), 1e-12);
  EXPECT_EQ(ToText({.seen_voxels = 3000, .voxels = 2500, .pieces = 2, .replaced = changes},
                   MetalSettings(), 0.5),
            "metal: 1.25 ml in 2 pieces; 50 % of the rays were replaced, their line integrals by "
            "1.50 less on average");
  EXPECT_EQ(ToText({.seen_voxels = 3000}, MetalSettings(), 0.5),
            "metal: 3000 voxels above 3000 HU, but the rays through them lack nothing: nothing was "
            "corrected");
  LineChanges raised;
  raised.Add(after, before);
  EXPECT_EQ(ToText({.voxels = 4000, .hardened = raised}, Table(1), 0.5),
            "bone: 2 ml above 100 HU; 50 % of the rays were corrected, their line integrals by "
            "1.500 more on average");
  EXPECT_EQ(StripesText(changes), "stripes: 1.1 of a line integral (RMS) were taken off the rays");
}

TEST(MakePrior, KeepsBoneAndMakesTheRestAirOrWater) {
  std::vector<float> hu = {-1000, -710, -400, 90, 240, 360, 1500, 5000};
  const std::vector<float> metal = {0, 0, 0, 0, 0, 0, 0, 5000};
  const Shape3 shape{1, 1, 8};
  MakePrior({}, {.mu_water_per_mm = 0.02}, {metal.data(), shape}, {hu.data(), shape});
  const std::vector<float> expected = {0, 0, 0.012f, 0.02f, 0.02f, 0.0272f, 0.05f, 0.02f};
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(hu[i], expected[i], 1e-7) << i;
}

TEST(MakeBone, RisesFromTissueToTwiceTheBone) {
  std::vector<float> hu = {-1000, 100, 600, 1100, 9000};
  const Shape3 shape{1, 1, 5};
  EXPECT_EQ(CountBone(Table(1), {hu.data(), shape}), 3);
  EXPECT_EQ(CountBone(Table(1), HostView3<const float>(hu.data(), {1, 1, 2})), 0);
  MakeBone(Table(1), {hu.data(), shape});
  EXPECT_EQ(hu, std::vector<float>({0, 0, 0.5f, 1, 2}));
}

TEST(SecondPassSettings, AreRefusedWithFieldValueAndLegal) {
  const auto complaint = [](const MetalSettings& metal) {
    const absl::Status status = ValidateSecondPassSettings({.metal = metal});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_TRUE(ValidateSecondPassSettings({.metal = MetalSettings()}).ok());
  EXPECT_THAT(complaint({.metal_hu = 900}), HasSubstr("metal_hu is 900; legal is 1000 to 30000"));
  EXPECT_THAT(complaint({.metal_edge_hu = 3001}), HasSubstr("metal_edge_hu is 3001; legal is 500"));
  EXPECT_THAT(complaint({.least_mm3 = -1}), HasSubstr("least_mm3 is -1"));
  EXPECT_THAT(complaint({.trace_margin_px = 17}), HasSubstr("trace_margin_px is 17; legal is 0"));
  EXPECT_THAT(complaint({.tissue_hu = 1}), HasSubstr("tissue_hu is 1"));
  EXPECT_THAT(complaint({.air_hu = -199}), HasSubstr("air_hu is -199; legal is -1000 to -200"));
  EXPECT_THAT(complaint({.bone_hu = std::numeric_limits<double>::quiet_NaN()}),
              HasSubstr("bone_hu is nan"));
  EXPECT_THAT(std::string(ValidateSecondPassSettings({}).message()),
              HasSubstr("nothing to correct for"));
}

absl::StatusOr<SecondPassPlan> PlanOf(const SmallScan& scan, const SecondPassSettings& settings,
                                      ops::Device& device) {
  const ops::Device* const devices[] = {&device};
  return MakeSecondPassPlan(scan.acquisition, scan.grid, {.mu_water_per_mm = kMuWater}, settings,
                            TestRegistry(), devices);
}

std::vector<float> Twice(const SmallScan& scan, const SecondPassPlan& plan, ops::Device& device,
                         std::vector<std::string>* findings = nullptr) {
  ops::Device* const devices[] = {&device};
  std::vector<float> volume(scan.grid.voxels());
  const absl::Status status = ReconstructTwice(plan, TestRegistry(), devices, scan.raw(),
                                               {volume.data(), scan.grid.shape()}, {}, findings);
  EXPECT_TRUE(status.ok()) << status;
  return volume;
}

std::vector<float> Once(const SmallScan& scan, const SecondPassPlan& plan, ops::Device& device) {
  std::vector<float> volume(scan.grid.voxels());
  const auto done = ReconstructAll(*plan.warm_start, TestRegistry(), device, scan.raw(),
                                   {volume.data(), scan.grid.shape()});
  EXPECT_TRUE(done.ok()) << done.status();
  return volume;
}

// The scan with one voxel of metal, near the middle.
SmallScan WithMetal() {
  SmallScan scan = MakeSmallScan();
  scan.truth[(4 * 10 + 4) * 10 + 3] = 20 * kMuWater;
  Project(ops::ProjectorModel::kJoseph, scan);
  return scan;
}
constexpr SecondPassSettings kTakeMetal{.metal = MetalSettings{.trace_margin_px = 1}};

TEST(SecondPass, WithoutMetalIsTheFirstVolume) {
  const SmallScan scan = MakeSmallScan();
  const auto device = OpenDevice("cpu");
  const auto plan = PlanOf(scan, kTakeMetal, *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<std::string> findings;
  EXPECT_EQ(Twice(scan, *plan, *device, &findings), Once(scan, *plan, *device));
  EXPECT_THAT(findings,
              ::testing::ElementsAre(
                  "metal: no voxel above 3000 HU in 3 mm³ or more: nothing was corrected"));
}

TEST(SecondPass, BackendsAgree) {
  const SmallScan scan = WithMetal();
  std::vector<std::vector<float>> volumes;
  for (const std::string backend : {"reference", "cpu"}) {
    const auto device = OpenDevice(backend);
    const auto plan = PlanOf(scan, kTakeMetal, *device);
    ASSERT_TRUE(plan.ok()) << plan.status();
    volumes.push_back(Twice(scan, *plan, *device));
    EXPECT_GT(LargestDifference(volumes.back(), Once(scan, *plan, *device)), 10);
  }
  EXPECT_LT(LargestDifference(volumes[0], volumes[1]), 0.1);
}

TEST(SecondPass, MetalIsPutBackAndItsShadowsAreLess) {
  const SmallScan scan = WithMetal(), without = MakeSmallScan();
  const auto device = OpenDevice("cpu");
  const auto plan = PlanOf(scan, kTakeMetal, *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<std::string> findings;
  const std::vector<float> first = Once(scan, *plan, *device),
                           second = Twice(scan, *plan, *device, &findings),
                           truth = Once(without, *plan, *device);
  EXPECT_THAT(findings, ::testing::ElementsAre(
                            MatchesRegex("metal: [0-9.e-]+ ml in 1 piece; [0-9.]+ % of the rays "
                                         "were replaced, their line integrals by [0-9]\\.[0-9]+ "
                                         "less on average")));
  const int64_t metal = (4 * 10 + 4) * 10 + 3;
  EXPECT_EQ(second[metal], first[metal]);
  double before = 0, after = 0;
  for (int64_t i = 0; i < scan.grid.voxels(); ++i) {
    if (std::abs(i % 10 - 3) < 2 && std::abs(i / 10 % 10 - 4) < 2) continue;
    before += (first[i] - truth[i]) * (first[i] - truth[i]);
    after += (second[i] - truth[i]) * (second[i] - truth[i]);
  }
  EXPECT_LT(after, 0.5 * before);
}

TEST(SecondPass, IsReadableAtItsEndOnly) {
  const SmallScan scan = WithMetal();
  const auto device = OpenDevice("cpu");
  const auto plan = PlanOf(scan, kTakeMetal, *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ops::Device* const devices[] = {device.get()};
  const auto second = NewSecondPass(*plan, TestRegistry(), devices);
  ASSERT_TRUE(second.ok()) << second.status();
  for (int view = 0; view < plan->views(); view += plan->chunk_views) {
    const int count = std::min(plan->chunk_views, plan->views() - view);
    ASSERT_TRUE((*second)->Push(scan.raw().views(view, count)).ok());
  }
  std::vector<float> volume = Once(scan, *plan, *device);
  const HostView3<float> voxels(volume.data(), scan.grid.shape());
  ASSERT_TRUE((*second)->Start(voxels).ok());
  int steps = 0;
  for (bool done = false; !done; ++steps) {
    EXPECT_FALSE((*second)->readable());
    EXPECT_EQ((*second)->Read(voxels).code(), absl::StatusCode::kFailedPrecondition);
    const auto step = (*second)->Step();
    ASSERT_TRUE(step.ok()) << step.status();
    done = *step;
  }
  EXPECT_GT(steps, 7);
  EXPECT_TRUE((*second)->readable());
  EXPECT_TRUE((*second)->Read(voxels).ok());
  EXPECT_EQ(volume, Twice(scan, *plan, *device));
}

// With less memory a volume is projected slab by slab.
TEST(SecondPass, SlabsAddUpToTheVolume) {
  const SmallScan scan = WithMetal();
  const auto device = OpenDevice("cpu");
  auto plan = PlanOf(scan, kTakeMetal, *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->slab_slices, scan.grid.nz);
  const std::vector<float> expected = Twice(scan, *plan, *device);
  for (const int slices : {5, 2, 1}) {
    plan->slab_slices = slices;
    EXPECT_LT(LargestDifference(Twice(scan, *plan, *device), expected), 0.01) << slices;
  }
}

TEST(SecondPass, SlabsAreAsLargeAsThereIsRoomFor) {
  SmallScan scan = MakeSmallScan();
  scan.grid = CenteredGrid(30, 30, 64, {2, 2, 2});
  int64_t bytes = int64_t{1} << 40;
  std::vector<int> slabs;
  while (true) {
    OwnMemoryDevice device(bytes);
    const auto plan = PlanOf(scan, kTakeMetal, device);
    if (!plan.ok()) {
      EXPECT_EQ(plan.status().code(), absl::StatusCode::kResourceExhausted) << plan.status();
      break;
    }
    EXPECT_LE(plan->peak_bytes, bytes);
    EXPECT_EQ(plan->peak_bytes, TotalBytes(plan->device_parts));
    if (slabs.empty() || slabs.back() != plan->slab_slices) slabs.push_back(plan->slab_slices);
    bytes = plan->peak_bytes - 1;
  }
  EXPECT_EQ(slabs.front(), 64);
  EXPECT_LT(slabs.back(), 64);
}

// The cpu device has no byte more than it is opened with.
TEST(SecondPass, TakesWhatItsPlanStates) {
  const SmallScan scan = WithMetal();
  const auto ample = OpenDevice("cpu");
  const auto plan = PlanOf(scan, kTakeMetal, *ample);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto device = OpenDevice("cpu", plan->peak_bytes);
  const auto same = PlanOf(scan, kTakeMetal, *device);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(Twice(scan, *same, *device), Twice(scan, *plan, *ample));
}

// The scan with three pixels that have drifted.
SmallScan WithStripes() {
  SmallScan scan = WithMetal();
  for (const auto& [v, u, more] : {std::tuple(11, 9, 0.03f), {10, 16, -0.02f}, {12, 12, 0.015f}}) {
    for (int64_t view = 0; view < scan.frame_shape().slow; ++view) {
      scan.frames[(view * 22 + v) * 26 + u] += more;
    }
  }
  return scan;
}
constexpr SecondPassSettings kTakeStripes{.stripes = true};

TEST(SecondPass, StripesAreTakenOffInRowsOfAnyNumber) {
  const SmallScan scan = WithStripes();
  const auto device = OpenDevice("cpu");
  auto plan = PlanOf(scan, kTakeStripes, *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(PlanText(*plan), HasSubstr("second pass against stripes\n"));
  std::vector<std::string> findings;
  const std::vector<float> without = Twice(scan, *plan, *device, &findings);
  EXPECT_THAT(findings, ::testing::ElementsAre(MatchesRegex(
                            "stripes: 0\\.[0-9]+ of a line integral \\(RMS\\) were taken off "
                            "the rays")));
  EXPECT_GT(LargestDifference(without, Once(scan, *plan, *device)), 5);
  for (const int rows : {1, 5, 22}) {
    plan->stripe_rows = rows;
    EXPECT_EQ(Twice(scan, *plan, *device), without) << rows;
  }
  const auto reference = OpenDevice("reference");
  plan = PlanOf(scan, kTakeStripes, *reference);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_LT(LargestDifference(Twice(scan, *plan, *reference), without), 0.1);
}

TEST(SecondPass, MetalIsFoundInAVolumeWithoutStripes) {
  const SmallScan scan = WithStripes();
  const auto device = OpenDevice("cpu");
  SecondPassSettings both = kTakeMetal;
  both.stripes = true;
  const auto plan = PlanOf(scan, both, *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(PlanText(*plan), HasSubstr("second pass against stripes and metal\n"));
  const std::vector<float> volume = Twice(scan, *plan, *device);
  const auto stripes = PlanOf(scan, kTakeStripes, *device);
  const int64_t metal = (4 * 10 + 4) * 10 + 3;
  EXPECT_EQ(volume[metal], Twice(scan, *stripes, *device)[metal]);
  const auto small = OpenDevice("cpu", plan->peak_bytes);
  const auto same = PlanOf(scan, both, *small);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(Twice(scan, *same, *small), volume);
}

TEST(SecondPass, BoneNeedsATable) {
  SmallScan scan = MakeSmallScan();
  const auto device = OpenDevice("cpu");
  EXPECT_THAT(std::string(PlanOf(scan, {.bone = true}, *device).status().message()),
              HasSubstr("has no calibration"));
  scan.acquisition.pixel_type = PixelType::kUint16Counts;
  scan.acquisition.calibration = std::make_shared<const ops::Calibration>(
      ops::Calibration{.name = "no-bone", .detector = scan.acquisition.detector});
  EXPECT_THAT(std::string(PlanOf(scan, {.bone = true}, *device).status().message()),
              HasSubstr("'no-bone' has no bone table"));
  auto known = std::make_shared<ops::Calibration>(*scan.acquisition.calibration);
  known->bone = Table(1);
  scan.acquisition.calibration = known;
  const auto plan = PlanOf(scan, {.bone = true}, *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(PlanText(*plan), HasSubstr("second pass against hardening by bone\n"));
  EXPECT_EQ(plan->peak_bytes, TotalBytes(plan->device_parts));
  EXPECT_EQ(plan->host_bytes, TotalBytes(plan->host_parts));
}

TEST(SecondPass, RefusesWhatIsOutOfTurnOrOfAnotherShape) {
  const SmallScan scan = WithMetal();
  const auto device = OpenDevice("cpu");
  ops::Device* const devices[] = {device.get()};
  const auto plan = PlanOf(scan, kTakeMetal, *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto pass = *NewSecondPass(*plan, TestRegistry(), devices);
  std::vector<float> volume = Once(scan, *plan, *device);
  const HostView3<float> view(volume.data(), scan.grid.shape());
  const auto code = [](const absl::Status& status) { return status.code(); };
  const auto kOutOfTurn = absl::StatusCode::kFailedPrecondition;
  const auto kIllegal = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code(pass->Step().status()), kOutOfTurn);
  EXPECT_EQ(code(pass->Start(view)), kOutOfTurn);
  EXPECT_EQ(code(pass->Push(scan.raw().views(0, plan->chunk_views + 1))), kIllegal);
  EXPECT_EQ(code(pass->Push(scan.raw().rows(0, 2).views(0, 1))), kIllegal);
  for (int i = 0; i < plan->views(); ++i) ASSERT_TRUE(pass->Push(scan.raw().views(i, 1)).ok());
  EXPECT_EQ(code(pass->Push(scan.raw().views(0, 1))), kIllegal);
  EXPECT_EQ(code(pass->Start(view.slices(0, 2))), kIllegal);
  volume[5] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(code(pass->Start(view)), kIllegal);
  volume[5] = 0;
  ASSERT_TRUE(pass->Start(view).ok());
  EXPECT_EQ(code(pass->Start(view)), kOutOfTurn);
  EXPECT_EQ(code(pass->Push(scan.raw().views(0, 1))), kOutOfTurn);
  double progress = 0;
  for (bool done = false; !done; done = *pass->Step()) {
    EXPECT_EQ(code(pass->Read(view)), kOutOfTurn);
    EXPECT_GE(pass->progress(), progress);
    EXPECT_LE(pass->progress(), 1);
    progress = pass->progress();
  }
  EXPECT_EQ(pass->progress(), 1);
  EXPECT_TRUE(*pass->Step());
  EXPECT_FALSE(pass->TakeTrace()->empty());
  EXPECT_EQ(code(pass->Read(view.slices(0, 2))), kIllegal);
  EXPECT_TRUE(pass->Read(view).ok());
}

}  // namespace
}  // namespace isocenter::recon
