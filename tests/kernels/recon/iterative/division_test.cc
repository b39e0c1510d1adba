// However a refinement is divided between devices and memories, the volume is the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/kernels/recon/iterative/small_scan.h"
#include "tests/kernels/recon/own_memory_device.h"

namespace isocenter::recon {
namespace {

IterativeSettings SettingsFor(Algorithm algorithm) {
  IterativeSettings settings{.algorithm = algorithm, .iterations = 3, .warm_start = false};
  if (algorithm == Algorithm::kOsSart || algorithm == Algorithm::kOsSqs ||
      algorithm == Algorithm::kAsdPocs) {
    settings.subsets = 3;
  }
  settings.tv_steps = 5;
  if (algorithm == Algorithm::kOsSqs) settings.prior_strength = 0.01;
  if (algorithm == Algorithm::kAsdPocs) settings.prior_strength = 2;
  if (algorithm == Algorithm::kFistaTv) settings.prior_strength = 1;
  settings.statistical_weights = algorithm == Algorithm::kCgls || algorithm == Algorithm::kLsqr ||
                                 algorithm == Algorithm::kOsSqs;
  return settings;
}

class DivisionTest : public testing::TestWithParam<Algorithm> {
 protected:
  // Float64 throughout but for the float32 of frames and of the volume in HU: sums in another order
  // differ by rounding alone.
  static constexpr double kRounding = 2e-3;  // HU

  // Rows finer than columns: a device's slices are seen in a part of them.
  const SmallScan scan_ = [] {
    SmallScan scan = MakeSmallScan(14, 342, 12);
    scan.acquisition.detector.rows = 56;
    scan.acquisition.detector.pitch_v_mm = 3;
    scan.acquisition.trajectory = *MakeWobblingOrbit({.views = 14,
                                                      .source_to_isocenter_mm = 600,
                                                      .source_to_detector_mm = 1000,
                                                      .arc = DegreesToRadians(342)},
                                                     scan.acquisition.detector, 1, 3);
    Project(ops::ProjectorModel::kJoseph, scan);
    return scan;
  }();
};

TEST_P(DivisionTest, SeveralDevicesMakeNoDifference) {
  const IterativeSettings settings = SettingsFor(GetParam());
  const Refined whole = Refine(scan_, settings);
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  for (const int count : {2, 3}) {
    std::vector<std::unique_ptr<ops::Device>> owners;
    std::vector<ops::Device*> devices;
    for (int i = 0; i < count; ++i)
      devices.push_back((owners.emplace_back(OpenDevice("reference"))).get());
    const Refined divided = RefineOn(scan_, settings, devices);
    ASSERT_TRUE(divided.status.ok()) << divided.status;
    ASSERT_EQ(divided.plan.devices(), count);
    // Neighbours share some rows, and nobody has all.
    EXPECT_LT(divided.plan.rows[0].seen.count, divided.plan.acquisition.detector.rows);
    EXPECT_LT(LargestDifference(divided.hounsfield, whole.hounsfield), kRounding) << count;
    for (size_t i = 0; i < whole.reports.size(); ++i) {
      EXPECT_NEAR(divided.reports[i].relative_residual, whole.reports[i].relative_residual, 1e-6);
      EXPECT_EQ(divided.reports[i].objective.has_value(), whole.reports[i].objective.has_value());
    }
  }
}

TEST_P(DivisionTest, SeveralDevicesHaveCoarseSurroundingsToo) {
  IterativeSettings settings = SettingsFor(GetParam());
  settings.surroundings_factor = 2;
  const Refined whole = Refine(scan_, settings);
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  const auto first = OpenDevice("reference"), second = OpenDevice("reference");
  const Refined divided = RefineOn(scan_, settings, {first.get(), second.get()});
  ASSERT_TRUE(divided.status.ok()) << divided.status;
  EXPECT_LT(LargestDifference(divided.hounsfield, whole.hounsfield), kRounding);
}

TEST_P(DivisionTest, WhatWaitsInHostMemoryMakesNoDifference) {
  const IterativeSettings settings = SettingsFor(GetParam());
  OwnMemoryDevice ample;
  const Refined whole = RefineOn(scan_, settings, {&ample});
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  ASSERT_FALSE(whole.plan.projections_in_host || whole.plan.pieces_in_host);
  std::set<std::string> ways;
  for (int64_t limit = whole.plan.peak_bytes - 1; limit > 0; limit = limit * 199 / 200) {
    OwnMemoryDevice small(limit);
    ops::Device* const device = &small;
    const auto plan = MakeRefinementPlan(scan_.acquisition, scan_.grid, {}, settings,
                                         TestRegistry(), {&device, 1});
    if (!plan.ok()) {
      EXPECT_EQ(plan.status().code(), absl::StatusCode::kResourceExhausted) << plan.status();
      break;
    }
    const std::string way =
        absl::StrCat(plan->kept_column_sums, plan->projections_in_host, plan->pieces_in_host, "/",
                     plan->pieces.size(), "/", plan->chunk_views);
    if (!ways.insert(way).second) continue;
    const Refined divided = RefineOn(scan_, settings, {&small});
    ASSERT_TRUE(divided.status.ok()) << divided.status;
    EXPECT_LE(small.allocated_bytes(), limit);
    EXPECT_LE(divided.plan.peak_bytes, limit);
    // Host memory holds float32.
    EXPECT_LT(LargestDifference(divided.hounsfield, whole.hounsfield), 0.05) << limit << " " << way;
  }
  const auto was = [&ways](absl::string_view kept_and_in_host) {
    return std::any_of(ways.begin(), ways.end(), [&](const std::string& way) {
      return absl::StartsWith(way, kept_and_in_host);
    });
  };
  EXPECT_TRUE(was("011")) << "never all of it in host memory";
  EXPECT_GE(ways.size(), 2u);
  // Column sums of all three subsets, of one, with a volume that the other two share, and of none.
  if (GetParam() == Algorithm::kOsSart) {
    for (const char* way : {"310", "110", "010"}) {
      EXPECT_TRUE(was(way)) << way << " is not among " << absl::StrJoin(ways, ", ");
    }
  }
}

TEST_P(DivisionTest, SeveralDevicesMayHaveLittleMemory) {
  IterativeSettings settings = SettingsFor(GetParam());
  settings.surroundings_factor = 2;
  OwnMemoryDevice ample;
  const Refined whole = RefineOn(scan_, settings, {&ample});
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  bool all_in_host = false;
  for (int64_t limit = whole.plan.peak_bytes / 2; limit > 0; limit = limit * 9 / 10) {
    OwnMemoryDevice first(limit), second(limit);
    const Refined divided = RefineOn(scan_, settings, {&first, &second});
    if (!divided.status.ok()) {
      EXPECT_EQ(divided.status.code(), absl::StatusCode::kResourceExhausted) << divided.status;
      break;
    }
    EXPECT_LE(first.allocated_bytes(), limit);
    EXPECT_LE(second.allocated_bytes(), limit);
    all_in_host |= divided.plan.projections_in_host && divided.plan.pieces_in_host;
    EXPECT_LT(LargestDifference(divided.hounsfield, whole.hounsfield), 0.05) << limit;
  }
  EXPECT_TRUE(all_in_host) << "never all of it in host memory";
}

TEST_P(DivisionTest, TheSameBitsTwice) {
  const IterativeSettings settings = SettingsFor(GetParam());
  const auto first = OpenDevice("reference"), second = OpenDevice("reference");
  const Refined once = RefineOn(scan_, settings, {first.get(), second.get()});
  const Refined twice = RefineOn(scan_, settings, {first.get(), second.get()});
  ASSERT_TRUE(once.status.ok()) << once.status;
  EXPECT_EQ(once.hounsfield, twice.hounsfield);
}

using Stepped = std::tuple<Algorithm, double>;  // with what momentum

class SubsetsTest : public testing::TestWithParam<Stepped> {};

// Where a subset is one chunk, its update goes from piece to piece: in the device's memory and in
// the host's, with coarse surroundings, and on several devices.
TEST_P(SubsetsTest, PieceAfterPieceIsTheSame) {
  SmallScan scan = MakeSmallScan(14, 342, 16);
  IterativeSettings settings = SettingsFor(std::get<0>(GetParam()));
  settings.subsets = settings.algorithm == Algorithm::kSart ? 0 : 7;
  settings.momentum = std::get<1>(GetParam());
  for (const int surroundings : {0, 2}) {
    settings.surroundings_factor = surroundings;
    OwnMemoryDevice ample;
    const Refined whole = RefineOn(scan, settings, {&ample});
    ASSERT_TRUE(whole.status.ok()) << whole.status;
    const size_t subset = whole.plan.subsets[0].size();
    std::set<std::tuple<bool, size_t, int>> ways;
    for (const size_t count : {1, 2}) {
      for (int64_t limit = whole.plan.peak_bytes; limit > 0; limit = limit * 39 / 40) {
        OwnMemoryDevice first(limit), second(limit);
        std::vector<ops::Device*> devices{&first, &second};
        devices.resize(count);
        const auto plan =
            MakeRefinementPlan(scan.acquisition, scan.grid, {}, settings, TestRegistry(), devices);
        if (!plan.ok()) break;
        if (plan->chunk_views < static_cast<int>(subset) || plan->pieces.size() <= count ||
            !ways.insert({plan->pieces_in_host, count, plan->kept_column_sums}).second) {
          continue;
        }
        const Refined divided = RefineOn(scan, settings, devices);
        ASSERT_TRUE(divided.status.ok()) << divided.status;
        EXPECT_LE(first.allocated_bytes(), limit);
        EXPECT_LE(second.allocated_bytes(), limit);
        EXPECT_LT(LargestDifference(divided.hounsfield, whole.hounsfield), 0.05) << limit;
        for (size_t i = 0; i < whole.reports.size(); ++i) {
          EXPECT_NEAR(divided.reports[i].relative_residual, whole.reports[i].relative_residual,
                      1e-5);
        }
      }
    }
    for (const bool in_host : {false, true}) {
      for (const size_t count : {1, 2}) {
        EXPECT_TRUE(ways.contains({in_host, count, 0})) << in_host << " on " << count;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, SubsetsTest,
                         testing::Values(Stepped{Algorithm::kSart, 0},
                                         Stepped{Algorithm::kOsSart, 0},
                                         Stepped{Algorithm::kOsSart, 0.5},
                                         Stepped{Algorithm::kOsSqs, 0},
                                         Stepped{Algorithm::kAsdPocs, 0}));

INSTANTIATE_TEST_SUITE_P(Algorithms, DivisionTest,
                         testing::Values(Algorithm::kSirt, Algorithm::kSart, Algorithm::kOsSart,
                                         Algorithm::kCgls, Algorithm::kLsqr, Algorithm::kOsSqs,
                                         Algorithm::kAsdPocs, Algorithm::kFistaTv),
                         [](const auto& info) {
                           return std::string(AlgorithmName(info.param).data(),
                                              AlgorithmName(info.param).size());
                         });

}  // namespace
}  // namespace isocenter::recon
