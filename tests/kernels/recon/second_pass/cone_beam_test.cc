// A second pass against the cone-beam artefact: how much of what is found is taken off, what it
// needs, and with what it goes. What it reaches: tests/accuracy/cone_beam_accuracy_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_shares.h"
#include "kernels/recon/second_pass/second_pass.h"
#include "tests/kernels/recon/iterative/small_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kSlices = 41;

// Slices of 2 mm around the isocentre; of a field of view of a tenth of the source's distance.
ConeBeamPlan PlanOfSlices() {
  ConeBeamPlan plan;
  plan.model.grid = CenteredGrid(4, 4, kSlices, {2, 2, 2});
  plan.radius_mm = 70;
  plan.source_mm = 700;
  plan.known_from_mm = -1000;
  plan.known_to_mm = 1000;
  return plan;
}

double HeightOf(const ConeBeamPlan& plan, int z) { return plan.model.grid.VoxelToWorld(0, 0, z).z; }

// An error of 3 HU everywhere and an artefact that grows by 1 HU for each mm.
double FoundAt(double height) { return std::sqrt(9 + height * height); }

void CountAll(const ConeBeamPlan& plan, ConeBeamShares& shares) {
  for (int z = 0; z < plan.model.grid.nz; ++z) {
    const auto found = static_cast<float>(FoundAt(HeightOf(plan, z)));
    shares.Count(1, z, std::vector(4, 0.5F), std::vector{found, -found, found, -found});
  }
}

float ShareAt(const ConeBeamShares& shares, int x, int y, int z) {
  std::vector row(4, 1.F);
  shares.Apply(y, z, row);
  return row[x];
}

TEST(ConeBeamShares, AreWhatTheErrorInTheOrbitsPlaneLeaves) {
  const ConeBeamPlan plan = PlanOfSlices();
  for (const double side : {1.0, -1.0}) {
    ConeBeamShares shares(plan, {0, 0, side});
    CountAll(plan, shares);
    EXPECT_NEAR(shares.Choose(), 3, 1e-6);
    EXPECT_EQ(ShareAt(shares, 1, 1, 20), 0);
    EXPECT_NEAR(ShareAt(shares, 1, 1, 22), 16.0 / (9 + 16), 1e-6);  // 4 mm above
    EXPECT_NEAR(ShareAt(shares, 1, 1, 10), 400.0 / (9 + 400), 1e-6);
  }
}

TEST(ConeBeamShares, AreNoneOfWhatIsAsLargeEverywhere) {
  const ConeBeamPlan plan = PlanOfSlices();
  ConeBeamShares shares(plan, {0, 0, 1});
  for (int z = 0; z < kSlices; ++z) shares.Count(1, z, std::vector(4, 1.F), std::vector(4, 5.F));
  EXPECT_NEAR(shares.Choose(), 5, 1e-6);
  for (int z = 0; z < kSlices; ++z) EXPECT_EQ(ShareAt(shares, 1, 1, z), 0) << z;
}

TEST(ConeBeamShares, AddUp) {
  const ConeBeamPlan plan = PlanOfSlices();
  ConeBeamShares all(plan, {0, 0, 1}), one(plan, {0, 0, 1}), other(plan, {0, 0, 1});
  CountAll(plan, all);
  for (int z = 0; z < kSlices; ++z) {
    const auto found = static_cast<float>(FoundAt(HeightOf(plan, z)));
    (z % 3 == 0 ? one : other).Count(0, z, std::vector(4, 1.F), std::vector(4, found));
  }
  one.Add(other);
  EXPECT_NEAR(one.Choose(), all.Choose(), 1e-6);
  EXPECT_NEAR(ShareAt(one, 0, 0, 31), ShareAt(all, 0, 0, 31), 1e-6);
}

// Rays through a voxel 22 mm above the plane reach up to 22 · 770 / 630 = 26.9 mm within the field
// of view, those through the axis there 22 · 1.1 = 24.2 mm.
TEST(ConeBeamShares, FallTowardsTheEndsOfWhatIsKnown) {
  for (const auto& [known_mm, share] : {std::pair(27.0, 1.0), {25.5, 0.49}, {24.0, 0.0}}) {
    ConeBeamPlan plan = PlanOfSlices();
    plan.known_to_mm = known_mm;
    ConeBeamShares shares(plan, {0, 0, 1});
    CountAll(plan, shares);
    shares.Choose();
    const double artefact = 484.0 / (9 + 484);
    EXPECT_NEAR(ShareAt(shares, 1, 1, 31), share * artefact, 0.01) << known_mm;
    EXPECT_NEAR(ShareAt(shares, 1, 1, 9), artefact, 1e-6) << "the other side is known";
    plan.known_to_mm = 1000;
    plan.known_from_mm = -known_mm;
    ConeBeamShares below(plan, {0, 0, 1});
    CountAll(plan, below);
    below.Choose();
    EXPECT_NEAR(ShareAt(below, 1, 1, 9), share * artefact, 0.01) << known_mm;
  }
}

TEST(ConeBeamShares, WithoutTheOrbitsPlaneTheNearestHeightStandsForIt) {
  ConeBeamPlan plan = PlanOfSlices();
  plan.model.grid.origin.z = 10;
  ConeBeamShares shares(plan, {0, 0, 1});
  CountAll(plan, shares);
  EXPECT_NEAR(shares.Choose(), FoundAt(10), 1e-6);
  EXPECT_EQ(ShareAt(shares, 1, 1, 0), 0);
  EXPECT_NEAR(ShareAt(shares, 1, 1, 10), 1 - (9 + 100) / (9.0 + 900), 1e-6);
}

// With air around in the volume.
SmallScan WithAir(SmallScan scan) {
  scan.grid = CenteredGrid(16, 16, 15, {8, 8, 8});
  return scan;
}

absl::StatusOr<SecondPassPlan> PlanOf(const SmallScan& scan, const SecondPassSettings& settings,
                                      ops::Device& device,
                                      const ops::Registry& registry = TestRegistry()) {
  const ops::Device* const devices[] = {&device};
  return MakeSecondPassPlan(scan.acquisition, scan.grid, {.mu_water_per_mm = kMuWater}, settings,
                            registry, devices);
}

struct Outcome {
  std::vector<float> volume;
  std::vector<std::string> findings;
};

Outcome Twice(const SmallScan& scan, const SecondPassPlan& plan, ops::Device& device,
              const ops::Registry& registry = TestRegistry()) {
  ops::Device* const devices[] = {&device};
  Outcome outcome{std::vector<float>(scan.grid.voxels()), {}};
  const absl::Status status =
      ReconstructTwice(plan, registry, devices, scan.raw(),
                       {outcome.volume.data(), scan.grid.shape()}, {}, &outcome.findings);
  EXPECT_TRUE(status.ok()) << status;
  return outcome;
}

TEST(ConeBeamPass, BackendsAgreeAndSayWhatTheyTookOff) {
  const SmallScan scan = WithAir(MakeSmallScan());
  std::vector<Outcome> outcomes;
  for (const std::string backend : {"reference", "cpu"}) {
    const auto device = OpenDevice(backend);
    const auto plan = PlanOf(scan, {.cone_beam = true}, *device);
    ASSERT_TRUE(plan.ok()) << plan.status();
    outcomes.push_back(Twice(scan, *plan, *device));
    EXPECT_THAT(outcomes.back().findings, ElementsAre(HasSubstr("cone-beam artefact: ")));
  }
  EXPECT_LT(LargestDifference(outcomes[0].volume, outcomes[1].volume), 0.1);
}

// One device, with the host's arithmetic and with its own: alone, and where the volume comes from
// metal's correction and goes on to it.
TEST(ConeBeamPass, ADeviceDoesWhatTheHostDoes) {
  const SmallScan scan = WithAir(MakeSmallScan());
  ops::Registry without = TestRegistry();
  without.cone_beam = {};
  const auto device = OpenDevice("reference");
  for (const bool metal : {false, true}) {
    SecondPassSettings settings{.cone_beam = true};
    if (metal) settings.metal.emplace().trace_margin_px = 1;
    const auto on_device = PlanOf(scan, settings, *device);
    const auto on_host = PlanOf(scan, settings, *device, without);
    ASSERT_TRUE(on_device.ok() && on_host.ok()) << on_device.status() << on_host.status();
    EXPECT_TRUE(on_device->cone_beam->on_device);
    EXPECT_FALSE(on_host->cone_beam->on_device);
    EXPECT_LT(on_device->host_bytes, on_host->host_bytes);
    const Outcome got = Twice(scan, *on_device, *device);
    const Outcome expected = Twice(scan, *on_host, *device, without);
    EXPECT_LT(LargestDifference(got.volume, expected.volume), 0.002) << metal;
    EXPECT_EQ(got.findings, expected.findings);
  }
}

TEST(ConeBeamPass, TheHostDoesWhatADeviceHasNoRoomFor) {
  SmallScan scan = MakeSmallScan();
  scan.grid = CenteredGrid(32, 32, 30, {4, 4, 4});  // larger than what frames need
  const auto ample = OpenDevice("reference");
  const auto plan = PlanOf(scan, {.cone_beam = true}, *ample);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(plan->cone_beam->on_device);
  bool by_host = false;
  for (int64_t limit = plan->peak_bytes; !by_host; limit -= limit / 20) {
    const auto device = OpenDevice("reference", limit);
    const auto smaller = PlanOf(scan, {.cone_beam = true}, *device);
    ASSERT_TRUE(smaller.ok()) << smaller.status();
    EXPECT_LE(smaller->peak_bytes, limit);
    by_host = !smaller->cone_beam->on_device;
  }
}

TEST(ConeBeamPass, RefusesAVolumeThatIsNotFinite) {
  const SmallScan scan = WithAir(MakeSmallScan());
  for (const std::string backend : {"reference", "cpu"}) {
    const auto device = OpenDevice(backend);
    ops::Device* const devices[] = {device.get()};
    const auto plan = PlanOf(scan, {.cone_beam = true}, *device);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const auto pass = NewSecondPass(*plan, TestRegistry(), devices);
    ASSERT_TRUE(pass.ok()) << pass.status();
    for (int view = 0; view < plan->views(); view += plan->chunk_views) {
      const int count = std::min(plan->chunk_views, plan->views() - view);
      ASSERT_TRUE((*pass)->Push(scan.raw().views(view, count), {}, {}).ok());
    }
    std::vector<float> volume(scan.grid.voxels());
    volume[7] = std::nanf("");
    const absl::Status status = (*pass)->Start({volume.data(), scan.grid.shape()});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("has a value of nan HU"));
  }
}

// The cpu device has no byte more than it is opened with.
TEST(ConeBeamPass, TakesWhatItsPlanStates) {
  const SmallScan scan = WithAir(MakeSmallScan());
  const auto ample = OpenDevice("cpu");
  const auto plan = PlanOf(scan, {.cone_beam = true}, *ample);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto device = OpenDevice("cpu", plan->peak_bytes);
  const auto same = PlanOf(scan, {.cone_beam = true}, *device);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(Twice(scan, *same, *device).volume, Twice(scan, *plan, *ample).volume);
}

TEST(ConeBeamPass, LeavesMetalThatIsPutBack) {
  SmallScan scan = MakeSmallScan();
  scan.truth[(4 * 10 + 4) * 10 + 3] = 20 * kMuWater;
  Project(ops::ProjectorModel::kJoseph, scan);
  scan = WithAir(scan);
  const int64_t metal = (7 * 16 + 7) * 16 + 6;
  const auto device = OpenDevice("cpu");
  const SecondPassSettings both{.metal = MetalSettings{.trace_margin_px = 1}, .cone_beam = true};
  const auto plan = PlanOf(scan, both, *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<float> first(scan.grid.voxels());
  ASSERT_TRUE(ReconstructAll(*plan->warm_start, TestRegistry(), *device, scan.raw(),
                             {first.data(), scan.grid.shape()})
                  .ok());
  EXPECT_EQ(Twice(scan, *plan, *device).volume[metal], first[metal]);
}

// The ball of water reaches 34 mm, the grid 24 mm to each side.
TEST(ConeBeamPass, RefusesAnObjectThatGoesOn) {
  SmallScan scan = MakeSmallScan();
  scan.grid = CenteredGrid(6, 6, 9, {8, 8, 8});
  const auto device = OpenDevice("cpu");
  ops::Device* const devices[] = {device.get()};
  const auto plan = PlanOf(scan, {.cone_beam = true}, *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<float> volume(scan.grid.voxels());
  const absl::Status status = ReconstructTwice(*plan, TestRegistry(), devices, scan.raw(),
                                               {volume.data(), scan.grid.shape()});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("cone_beam: the object goes on beyond"), HasSubstr("at most 25 %")));
}

TEST(ConeBeamPass, RefusesSlicesThatAreNotAcrossTheAxis) {
  SmallScan scan = MakeSmallScan();
  const auto device = OpenDevice("cpu");
  const auto turn_about_x = [&](double degrees) {
    const double c = std::cos(DegreesToRadians(degrees)), s = std::sin(DegreesToRadians(degrees));
    scan.grid.direction = {1, 0, 0, 0, c, -s, 0, s, c};
    return PlanOf(scan, {.cone_beam = true}, *device).status();
  };
  EXPECT_TRUE(turn_about_x(9).ok());
  const absl::Status oblique = turn_about_x(12);
  EXPECT_EQ(oblique.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(oblique.message()), HasSubstr("are turned by 12"));
  EXPECT_THAT(std::string(oblique.message()), HasSubstr("at most 10"));
}

}  // namespace
}  // namespace isocenter::recon
