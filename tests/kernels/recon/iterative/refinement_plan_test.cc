#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/recon/iterative/method.h"
#include "kernels/recon/iterative/residence/pass_cost.h"
#include "kernels/recon/iterative/subsets.h"
#include "kernels/recon/iterative/surroundings.h"
#include "tests/kernels/recon/iterative/small_scan.h"
#include "tests/kernels/recon/own_memory_device.h"

namespace isocenter::recon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Subsets, ComeInBitReversedOrderAndHaveEachViewOnce) {
  EXPECT_THAT(BitReversedOrder(8), ElementsAre(0, 4, 2, 6, 1, 5, 3, 7));
  EXPECT_THAT(BitReversedOrder(5), ElementsAre(0, 4, 2, 1, 3));
  EXPECT_THAT(BitReversedOrder(1), ElementsAre(0));
  EXPECT_THAT(MakeSubsets(7, 3),
              ElementsAre(ElementsAre(0, 3, 6), ElementsAre(2, 5), ElementsAre(1, 4)));
  for (const auto& [views, subsets, chunk] : {std::tuple(31, 4, 3), {10, 10, 16}, {17, 1, 5}}) {
    std::vector<int> seen;
    for (const ViewChunk& part : ChunksOf(MakeSubsets(views, subsets), chunk)) {
      EXPECT_LE(static_cast<int>(part.views.size()), chunk);
      EXPECT_GE(part.views.size(), 1u);
      seen.insert(seen.end(), part.views.begin(), part.views.end());
    }
    std::sort(seen.begin(), seen.end());
    ASSERT_EQ(static_cast<int>(seen.size()), views);
    for (int view = 0; view < views; ++view) EXPECT_EQ(seen[view], view);
  }
}

TEST(Subsets, ThatAreTooManyForOsSqsAreTold) {
  EXPECT_THAT(
      ManySubsetsText(Algorithm::kOsSqs, 120, 120).value_or(""),
      HasSubstr("iterative.subsets is 120, which leaves 1 views of 120 to each; good are at "
                "most 30 (4 views in each), chosen without it 20"));
  EXPECT_TRUE(ManySubsetsText(Algorithm::kOsSqs, 120, 31));
  EXPECT_FALSE(ManySubsetsText(Algorithm::kOsSqs, 120, 30));
  for (const int views : {2, 7, 50, 120, 496}) {
    EXPECT_FALSE(
        ManySubsetsText(Algorithm::kOsSqs, views, DefaultSubsets(Algorithm::kOsSqs, views)));
    EXPECT_FALSE(ManySubsetsText(Algorithm::kSart, views, views));
    EXPECT_FALSE(ManySubsetsText(Algorithm::kOsSart, views, views));
  }
}

TEST(Settings, AreCheckedByName) {
  const auto message = [](IterativeSettings settings) {
    return std::string(ValidateIterativeSettings(settings).message());
  };
  EXPECT_TRUE(ValidateIterativeSettings({}).ok());
  EXPECT_THAT(message({.iterations = 0}), HasSubstr("iterative.iterations is 0; legal is 1 to"));
  EXPECT_THAT(message({.subsets = -1}), HasSubstr("subsets is -1"));
  EXPECT_THAT(message({.relaxation = 2}), HasSubstr("relaxation is 2; legal is more than 0"));
  EXPECT_THAT(message({.relaxation_decay = 0}), HasSubstr("relaxation_decay is 0"));
  EXPECT_THAT(message({.momentum = 0.91}), HasSubstr("momentum is 0.91; legal is 0 to 0.9"));
  EXPECT_THAT(message({.momentum = std::nan("")}), HasSubstr("momentum is nan"));
  EXPECT_THAT(message({.algorithm = Algorithm::kOsSqs, .momentum = 0.5}),
              HasSubstr("momentum is not for os_sqs; legal is 0, or sirt, sart and os_sart"));
  EXPECT_THAT(message({.relaxation = 1.6, .momentum = 0.5}),
              HasSubstr("relaxation is 1.6; legal is less than 1.5 with a momentum of 0.5"));
  EXPECT_THAT(message({.prior_strength = -1}), HasSubstr("prior_strength is -1"));
  EXPECT_THAT(message({.huber_delta_per_mm = 0}), HasSubstr("huber_delta_per_mm is 0"));
  EXPECT_THAT(message({.tv_steps = 0}), HasSubstr("tv_steps is 0"));
  EXPECT_THAT(message({.stop_residual = 1}), HasSubstr("stop_residual is 1"));
  EXPECT_THAT(message({.surroundings_factor = 1}), HasSubstr("surroundings_factor is 1"));
  EXPECT_THAT(message({.algorithm = Algorithm::kCgls, .matched = false}),
              HasSubstr("matched = false is not for cgls"));
  EXPECT_THAT(message({.algorithm = Algorithm::kSirt, .subsets = 4}),
              HasSubstr("subsets is not for sirt"));
  EXPECT_THAT(message({.statistical_weights = true}), HasSubstr("is not for os_sart"));
  EXPECT_THAT(message({.prior_strength = 1}), HasSubstr("prior_strength is not for os_sart"));
  EXPECT_THAT(message({.relaxation = std::nan("")}), HasSubstr("relaxation is nan"));
}

TEST(Settings, AlgorithmsHaveNames) {
  for (const char* name :
       {"sirt", "sart", "os_sart", "cgls", "lsqr", "os_sqs", "asd_pocs", "fista_tv"}) {
    EXPECT_EQ(AlgorithmName(*AlgorithmNamed(name)), name);
  }
  EXPECT_THAT(AlgorithmNamed("art").status().message(), HasSubstr("'art'; there are: sirt, sart"));
}

TEST(RefinementPlan, RefusesWhatCannotBe) {
  const SmallScan scan = MakeSmallScan(12);
  EXPECT_THAT(Refine(scan, {.subsets = 13}).status.message(), HasSubstr("number of views, 12"));
  const auto small = OpenDevice("reference", 1000);
  const Refined refused = RefineOn(scan, {}, {small.get()});
  EXPECT_EQ(refused.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.status.message(), HasSubstr("the limit is 1000"));
  const auto other = OpenDevice("cpu"), reference = OpenDevice("reference");
  EXPECT_THAT(RefineOn(scan, {}, {reference.get(), other.get()}).status.message(),
              HasSubstr("all of one backend"));
  EXPECT_EQ(RefineOn(scan, {}, {}).status.code(), absl::StatusCode::kInvalidArgument);
}

TEST(RefinementPlan, EachRowIsOwnedOnceByADeviceThatSeesIt) {
  SmallScan scan = MakeSmallScan(12);
  // Fine rows, of which a slab sees few.
  scan.acquisition.detector.rows = 220;
  scan.acquisition.detector.pitch_v_mm = 0.8;
  scan.acquisition.trajectory = *MakeCircularOrbit(
      {.views = 12, .source_to_isocenter_mm = 600, .source_to_detector_mm = 1000, .arc = 6},
      scan.acquisition.detector);
  std::vector<std::unique_ptr<ops::Device>> owners;
  std::vector<ops::Device*> devices;
  for (int i = 0; i < 3; ++i)
    devices.push_back((owners.emplace_back(OpenDevice("reference"))).get());
  const auto plan =
      *MakeRefinementPlan(scan.acquisition, scan.grid, {}, {}, TestRegistry(), devices);
  ASSERT_EQ(plan.devices(), 3);
  std::vector<int> owned(220), seen(220);
  for (const DeviceRows& rows : plan.rows) {
    EXPECT_LT(rows.seen.count, 150);  // not the whole detector for a third of the volume
    EXPECT_GE(rows.owned.first, rows.seen.first);
    EXPECT_LE(rows.owned.end(), rows.seen.end());
    for (int row = rows.owned.first; row < rows.owned.end(); ++row) ++owned[row];
    for (int row = rows.seen.first; row < rows.seen.end(); ++row) ++seen[row];
  }
  for (int row = 0; row < 220; ++row) EXPECT_EQ(owned[row], seen[row] > 0 ? 1 : 0) << row;
}

// The volume is large beside a subset's projections, as it is for patients.
TEST(RefinementPlan, LessMemoryNeverMakesAFasterPlan) {
  SmallScan scan = MakeSmallScan(48, 342, 24);
  for (const Algorithm algorithm : {Algorithm::kOsSart, Algorithm::kOsSqs}) {
    const IterativeSettings settings{.algorithm = algorithm, .subsets = 24, .warm_start = false};
    const auto plan_on = [&](int64_t limit) {
      OwnMemoryDevice device(limit);
      ops::Device* const one = &device;
      return MakeRefinementPlan(scan.acquisition, scan.grid, {}, settings, TestRegistry(),
                                {&one, 1});
    };
    const auto whole = plan_on(0);
    ASSERT_TRUE(whole.ok()) << whole.status();
    EXPECT_EQ(whole->pieces.size(), 1u);
    double cost = PassCost(*whole, NeedsOf(*whole));
    bool several_in_device = false, several_in_host = false;
    for (int64_t limit = whole->peak_bytes; limit > 0; limit = limit * 49 / 50) {
      const auto plan = plan_on(limit);
      if (!plan.ok()) break;
      EXPECT_LE(plan->peak_bytes, limit);
      const double slower = PassCost(*plan, NeedsOf(*plan));
      EXPECT_GE(slower, cost) << limit;
      cost = slower;
      several_in_device |= plan->pieces.size() > 1 && !plan->pieces_in_host;
      several_in_host |= plan->pieces_in_host;
    }
    EXPECT_TRUE(several_in_device);
    EXPECT_TRUE(several_in_host);
  }
}

TEST(Surroundings, LieAroundTheGridOnItsBorders) {
  const SmallScan scan = MakeSmallScan(12, 342, 8);
  const auto around =
      SurroundingGrid(scan.grid, 4, scan.acquisition.trajectory, scan.acquisition.detector);
  ASSERT_TRUE(around.ok()) << around.status();
  EXPECT_EQ(around->spacing, (Vec3{32, 32, 32}));
  const Vec3 corner = scan.grid.WorldToVoxel(around->VoxelToWorld(0, 0, 0));
  // The first voxel's border is a whole number of coarse voxels before the grid's.
  EXPECT_NEAR(std::remainder(corner.x - 2 + 0.5, 4), 0, 1e-9);
  EXPECT_LE(corner.x, -2.5);
  const std::vector<float> mask = OutsideMask(*around, scan.grid);
  // 8 x 8 x 7 voxels are covered by 2 x 2 x 2.
  EXPECT_EQ(std::count(mask.begin(), mask.end(), 0.f), 8);
}

}  // namespace
}  // namespace isocenter::recon
