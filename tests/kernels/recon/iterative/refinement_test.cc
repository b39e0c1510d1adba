#include "kernels/recon/iterative/refinement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "tests/kernels/recon/iterative/small_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

// A volume of ones is explained by every ray alone, so that one step of any subset gives it to all
// voxels that the subset sees: the sums of rows and columns must be those of the rays and views
// that there are, at the ends of a short scan and where the detector cuts the volume off.
TEST(Sart, NormalisesWhatAShortScanSees) {
  SmallScan scan = MakeSmallScan(12, 200, 12);
  scan.acquisition.detector.columns = 17;
  scan.acquisition.detector.rows = 13;
  scan.truth.assign(scan.grid.voxels(), 0.03f);
  Project(ops::ProjectorModel::kJoseph, scan);
  for (const bool matched : {true, false}) {
    for (const int subsets : {1, 4}) {
      const Refined refined = Refine(scan, {.algorithm = Algorithm::kOsSart,
                                            .matched = matched,
                                            .iterations = 1,
                                            .subsets = subsets,
                                            .warm_start = false});
      ASSERT_TRUE(refined.status.ok()) << refined.status;
      int seen = 0, unseen = 0;
      for (const float value : refined.hounsfield) {
        if (std::abs(value - 500) < 0.5) ++seen;
        if (value == -1000) ++unseen;
      }
      EXPECT_EQ(seen + unseen, scan.grid.voxels()) << subsets;
      EXPECT_GT(seen, scan.grid.voxels() / 2);
    }
  }
}

TEST(Sart, TheResidualOfSirtNeverGrows) {
  const Refined refined = Refine(
      MakeSmallScan(), {.algorithm = Algorithm::kSirt, .iterations = 15, .warm_start = false});
  ASSERT_EQ(refined.reports.size(), 15u) << refined.status;
  for (size_t i = 1; i < refined.reports.size(); ++i) {
    EXPECT_LT(refined.reports[i].relative_residual, refined.reports[i - 1].relative_residual);
  }
}

// A pass with momentum m does what 1 / (1 - m) passes do without.
TEST(Sart, MomentumStandsForPasses) {
  const SmallScan scan = MakeSmallScan();
  for (const int subsets : {1, 5}) {
    const auto after = [&](int passes, double momentum) {
      const Refined refined = Refine(scan, {.algorithm = Algorithm::kOsSart,
                                            .iterations = passes,
                                            .subsets = subsets,
                                            .momentum = momentum,
                                            .warm_start = false});
      EXPECT_TRUE(refined.status.ok()) << refined.status;
      return refined.hounsfield;
    };
    const auto plain = after(24, 0);
    const double distance = RmsDifference(after(12, 0.5), plain);
    std::printf("%d subsets: half the passes %.3f HU, a third %.3f HU from those without\n",
                subsets, distance, RmsDifference(after(8, 2. / 3), plain));
    EXPECT_LT(distance, 0.2 * RmsDifference(after(12, 0), plain));
  }
}

TEST(OsSqs, TheObjectiveOfOneSubsetFalls) {
  for (const double strength : {0.0, 0.01, 1.0}) {
    const Refined refined = Refine(MakeSmallScan(), {.algorithm = Algorithm::kOsSqs,
                                                     .iterations = 15,
                                                     .subsets = 1,
                                                     .warm_start = false,
                                                     .statistical_weights = true,
                                                     .prior_strength = strength});
    ASSERT_EQ(refined.reports.size(), 15u) << refined.status;
    for (size_t i = 1; i < refined.reports.size(); ++i) {
      EXPECT_LT(*refined.reports[i].objective, *refined.reports[i - 1].objective) << strength;
    }
  }
}

// Subsets disagree about noise. Their iterates scatter around the minimum; the mean of a pass does
// not, and it is what is read.
TEST(OsSqs, TheMeanOfSubsetsIsNearTheMinimum) {
  SmallScan scan = MakeSmallScan();
  std::mt19937 random(5);
  for (float& p : scan.frames) p += 0.02f * (static_cast<float>(random()) * 0x1p-32f - 0.5f);
  IterativeSettings settings{
      .algorithm = Algorithm::kOsSqs, .iterations = 300, .subsets = 1, .prior_strength = 0.02};
  const Refined minimum = Refine(scan, settings);
  settings.subsets = 5;
  for (const int passes : {12, 24}) {
    settings.iterations = passes;
    const Refined refined = Refine(scan, settings);
    ASSERT_TRUE(refined.status.ok()) << refined.status;
    const double distance = RmsDifference(refined.hounsfield, minimum.hounsfield);
    std::printf("%d passes: %.3f HU from the minimum\n", passes, distance);
    EXPECT_LT(distance, passes == 12 ? 2 : 0.6);
  }
}

// The panel ends inside the object, and subsets see its parts unevenly: steps by the denominators
// of few views grow without bound.
TEST(OsSqs, DoesNotGrowWhereThePanelEndsInsideTheObject) {
  SmallScan scan = MakeSmallScan(40);
  scan.acquisition.detector.columns = 8;  // of 26, at one end
  Project(ops::ProjectorModel::kJoseph, scan);
  for (const int subsets : {10, 20, 40}) {
    const Refined refined = Refine(scan, {.algorithm = Algorithm::kOsSqs,
                                          .iterations = 12,
                                          .subsets = subsets,
                                          .warm_start = false});
    ASSERT_EQ(refined.reports.size(), 12u) << refined.status;
    std::printf("%d subsets:", subsets);
    for (const IterationReport& report : refined.reports) {
      std::printf(" %.3g", report.relative_residual);
    }
    std::printf("\n");
    EXPECT_LT(refined.reports.back().relative_residual, 0.1) << subsets;
  }
}

TEST(OsSqs, WhatIsReadChangesWithWholePasses) {
  const SmallScan scan = MakeSmallScan();
  const auto device = OpenDevice("reference");
  ops::Device* const devices[] = {device.get()};
  const auto plan = *MakeRefinementPlan(
      scan.acquisition, scan.grid, {.mu_water_per_mm = kMuWater},
      {.algorithm = Algorithm::kOsSqs, .iterations = 3, .subsets = 4, .warm_start = false},
      TestRegistry(), devices);
  const auto refinement = *Refinement::Create(plan, TestRegistry(), devices);
  for (int view = 0; view < plan.views(); view += plan.chunk_views) {
    const int count = std::min(plan.chunk_views, plan.views() - view);
    ASSERT_TRUE(refinement->Push(scan.raw().views(view, count)).ok());
  }
  ASSERT_TRUE(refinement->Start({}).ok());
  std::vector<std::vector<float>> after(4);
  for (bool done = false; !done;) {
    done = *refinement->Step();
    std::vector<float> read(scan.grid.voxels());
    ASSERT_TRUE(refinement->Read({read.data(), scan.grid.shape()}).ok());
    std::vector<float>& of_pass = after[refinement->reports().size()];
    // Until the first pass has ended there is nothing better than what there is of it.
    if (of_pass.empty() || refinement->reports().empty()) of_pass = read;
    EXPECT_EQ(read, of_pass);
  }
  EXPECT_NE(after[0], std::vector<float>(after[0].size(), -1000));
  EXPECT_NE(after[1], after[2]);
  EXPECT_NE(after[2], after[3]);
}

TEST(FistaTv, TheObjectiveFallsAndAStrongPriorFlattens) {
  double variation = std::numeric_limits<double>::infinity();
  for (const double strength : {0.0, 1.0, 100.0}) {
    const Refined refined = Refine(MakeSmallScan(), {.algorithm = Algorithm::kFistaTv,
                                                     .iterations = 25,
                                                     .warm_start = false,
                                                     .prior_strength = strength});
    ASSERT_EQ(refined.reports.size(), 25u) << refined.status;
    for (size_t i = 1; i < refined.reports.size(); ++i) {
      // Momentum may overshoot a little.
      EXPECT_LT(*refined.reports[i].objective, 1.02 * *refined.reports[i - 1].objective);
    }
    double sum = 0;
    for (size_t i = 1; i < refined.hounsfield.size(); ++i) {
      sum += std::abs(refined.hounsfield[i] - refined.hounsfield[i - 1]);
    }
    EXPECT_LT(sum, variation) << strength;
    variation = sum;
  }
}

TEST(Refinement, StopsAtAResidual) {
  const SmallScan scan = MakeSmallScan();
  const Refined refined =
      Refine(scan, {.iterations = 50, .subsets = 5, .warm_start = false, .stop_residual = 0.05});
  ASSERT_TRUE(refined.status.ok()) << refined.status;
  ASSERT_LT(refined.reports.size(), 50u);
  EXPECT_LT(refined.reports.back().relative_residual, 0.05);
  EXPECT_GE(refined.reports[refined.reports.size() - 2].relative_residual, 0.05);
}

TEST(Refinement, BeginsWithFdkAndEndsWhenItIsTold) {
  const SmallScan scan = MakeSmallScan(40);
  const auto device = OpenDevice("reference");
  ops::Device* const devices[] = {device.get()};
  const auto plan = *MakeRefinementPlan(scan.acquisition, scan.grid, {.mu_water_per_mm = kMuWater},
                                        {.iterations = 4, .subsets = 5}, TestRegistry(), devices);
  std::vector<float> volume(scan.grid.voxels());
  int calls = 0;
  const auto reports =
      RefineAll(plan, TestRegistry(), devices, scan.raw(), {volume.data(), scan.grid.shape()},
                [&](const IterationReport& report) { return ++calls, report.iteration < 2; });
  ASSERT_TRUE(reports.ok()) << reports.status();
  EXPECT_EQ(calls, 2);
  ASSERT_EQ(reports->size(), 2u);
  const Refined cold = Refine(scan, {.iterations = 2, .subsets = 5, .warm_start = false});
  EXPECT_LT((*reports)[0].relative_residual, cold.reports[0].relative_residual);
}

TEST(Refinement, TakesCountsAndMeasuredMatrices) {
  // The object is where it was, but the arm was 2 mm further along z in every view.
  SmallScan scan = MakeSmallScan(12);
  Trajectory measured = scan.acquisition.trajectory;
  for (ProjectionMatrix& matrix : measured) {
    for (int row = 0; row < 3; ++row) matrix.m[row * 4 + 3] -= 2 * matrix.m[row * 4 + 2];
    matrix = *NormalizeMatrix(matrix);
  }
  const Trajectory planned = scan.acquisition.trajectory;
  scan.acquisition.trajectory = measured;
  Project(ops::ProjectorModel::kJoseph, scan);
  std::vector<uint16_t> counts;
  for (const float p : scan.frames) {
    counts.push_back(static_cast<uint16_t>(std::lround(60000 * std::exp(-p))));
  }
  const IterativeSettings settings{.iterations = 10, .subsets = 4, .warm_start = false};
  const auto device = OpenDevice("reference");
  ops::Device* const devices[] = {device.get()};
  double rmse[2];
  for (const bool corrected : {false, true}) {
    scan.acquisition.trajectory = planned;
    scan.acquisition.pixel_type = PixelType::kUint16Counts;
    scan.acquisition.i0_counts = 60000;
    const auto plan =
        *MakeRefinementPlan(scan.acquisition, scan.grid, {.mu_water_per_mm = kMuWater}, settings,
                            TestRegistry(), devices);
    auto refinement = *Refinement::Create(plan, TestRegistry(), devices);
    const HostView3<const uint16_t> all(counts.data(), scan.frame_shape());
    for (int view = 0; view < 12; view += 3) {
      const auto matrices = std::span(corrected ? measured : planned).subspan(view, 3);
      const auto status = refinement->Push({.counts = all.slices(view, 3)}, matrices);
      ASSERT_TRUE(status.ok()) << status;
    }
    ASSERT_TRUE(refinement->Start({}).ok());
    for (bool done = false; !done;) done = *refinement->Step();
    EXPECT_EQ(refinement->progress(), 1);
    std::vector<float> volume(scan.grid.voxels());
    ASSERT_TRUE(refinement->Read({volume.data(), scan.grid.shape()}).ok());
    rmse[corrected] = RmseOf(scan, volume);
  }
  EXPECT_LT(rmse[1], 80);
  EXPECT_LT(rmse[1], 0.7 * rmse[0]);
}

TEST(Refinement, ReadsBetweenStepsAndTracesItsWork) {
  const SmallScan scan = MakeSmallScan(12);
  const auto device = OpenDevice("reference");
  ops::Device* const devices[] = {device.get()};
  const auto plan = *MakeRefinementPlan(scan.acquisition, scan.grid, {.mu_water_per_mm = kMuWater},
                                        {.iterations = 2, .subsets = 3}, TestRegistry(), devices);
  auto refinement = *Refinement::Create(plan, TestRegistry(), devices);
  std::vector<float> volume(scan.grid.voxels()), before(scan.grid.voxels());
  const HostView3<float> view(volume.data(), scan.grid.shape());
  EXPECT_EQ(refinement->Read(view).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refinement->Step().status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(refinement->Push({.line_integrals = scan.raw().line_integrals.slices(0, 4)}).ok());
  EXPECT_THAT(refinement->Start({}).message(), HasSubstr("only 4 of 12 frames"));
  EXPECT_THAT(refinement->Push(scan.raw()).message(), HasSubstr("legal is 1 to"));
  for (int at : {4, 8}) {
    ASSERT_TRUE(refinement->Push({.line_integrals = scan.raw().line_integrals.slices(at, 4)}).ok());
  }
  volume[3] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(refinement->Start(view).message(), HasSubstr("inf HU"));
  ASSERT_TRUE(refinement->Start({}).ok());
  EXPECT_EQ(refinement->Push(scan.raw()).code(), absl::StatusCode::kFailedPrecondition);
  int updates = 0;
  double progress = 0;
  ASSERT_TRUE(refinement->Read({before.data(), scan.grid.shape()}).ok());
  EXPECT_THAT(before, Each(-1000));  // nothing of the volume that was refused
  for (bool done = false; !done;) {
    done = *refinement->Step();
    EXPECT_GE(refinement->progress(), progress);
    progress = refinement->progress();
    ASSERT_TRUE(refinement->Read(view).ok());
    if (volume != before) ++updates;
    before = volume;
  }
  EXPECT_EQ(updates, 6);  // passes times subsets: never a part of an update
  EXPECT_TRUE(*refinement->Step());
  const auto trace = refinement->TakeTrace();
  ASSERT_TRUE(trace.ok());
  EXPECT_GT(SecondsOf(*trace).forward_project, 0);
  EXPECT_GT(SecondsOf(*trace).backproject, 0);
}

// In several pieces, more slices than are converted at once, and with a table of HU.
TEST(Refinement, GivesBackTheVolumeThatItBeganWith) {
  const SmallScan scan = MakeSmallScan(12, 342, 40);
  const auto first = OpenDevice("reference"), second = OpenDevice("reference");
  ops::Device* const devices[] = {first.get(), second.get()};
  auto plan = *MakeRefinementPlan(scan.acquisition, scan.grid, {.mu_water_per_mm = kMuWater},
                                  {.iterations = 1}, TestRegistry(), devices);
  plan.hounsfield.table = {{{-1000, -1000}, {0, 5}, {300, 900}}};
  auto refinement = *Refinement::Create(plan, TestRegistry(), devices);
  for (int at = 0; at < 12; at += plan.chunk_views) {
    const int count = std::min(plan.chunk_views, 12 - at);
    ASSERT_TRUE(
        refinement->Push({.line_integrals = scan.raw().line_integrals.slices(at, count)}).ok());
  }
  std::vector<float> begin(scan.grid.voxels()), read(scan.grid.voxels());
  for (size_t i = 0; i < begin.size(); ++i) begin[i] = static_cast<float>(i % 2311) - 900;
  ASSERT_TRUE(refinement->Start({begin.data(), scan.grid.shape()}).ok());
  ASSERT_TRUE(refinement->Read({read.data(), scan.grid.shape()}).ok());
  EXPECT_LT(LargestDifference(read, begin), 1e-3);
}

}  // namespace
}  // namespace isocenter::recon
