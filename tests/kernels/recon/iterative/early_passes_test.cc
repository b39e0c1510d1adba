// Passes over the frames that are there, while the others still come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <utility>

#include "kernels/recon/iterative/subsets.h"
#include "kernels/recon/reconstructor.h"
#include "tests/kernels/recon/iterative/small_scan.h"
#include "tests/kernels/recon/own_memory_device.h"

namespace isocenter::recon {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

IterativeSettings Early(int passes, int iterations = 2) {
  return {.algorithm = Algorithm::kOsSart,
          .iterations = iterations,
          .subsets = 4,
          .momentum = 0.5,
          .warm_start = false,
          .early_passes = passes};
}

RefinementPlan PlanOf(const SmallScan& scan, const IterativeSettings& settings,
                      std::span<ops::Device* const> devices) {
  auto plan = MakeRefinementPlan(scan.acquisition, scan.grid, {.mu_water_per_mm = kMuWater},
                                 settings, TestRegistry(), devices);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

// How frames come, and how much time is spare between them.
struct Timing {
  std::function<int(int most)> frames;  // next, of at most so many
  std::function<int()> steps;           // early ones after each Push; -1: as long as there are any
};

// `measured`: a matrix for each view, or none.
std::vector<float> RefineLive(const SmallScan& scan, const RefinementPlan& plan,
                              std::span<ops::Device* const> devices, const Timing& timing,
                              std::span<const ProjectionMatrix> measured = {},
                              HostView3<const float> start = {}) {
  const auto refinement = *Refinement::Create(plan, TestRegistry(), devices);
  for (int view = 0; view < plan.views();) {
    const int count = timing.frames(std::min(plan.chunk_views, plan.views() - view));
    const absl::Status pushed = refinement->Push(
        scan.raw().views(view, count), measured.empty() ? measured : measured.subspan(view, count));
    EXPECT_TRUE(pushed.ok()) << pushed;
    view += count;
    const int steps = timing.steps();
    for (int step = 0; step != steps; ++step) {
      const auto idle = refinement->StepEarly();
      EXPECT_TRUE(idle.ok()) << idle.status();
      if (!idle.ok() || *idle) break;
    }
  }
  EXPECT_TRUE(refinement->Start(start).ok());
  for (bool done = false; !done;) done = *refinement->Step();
  EXPECT_EQ(static_cast<int>(refinement->reports().size()), plan.settings.iterations);
  EXPECT_GT(refinement->reports().front().relative_residual, 0);
  EXPECT_LT(refinement->reports().front().relative_residual, 1);
  std::vector<float> read(scan.grid.voxels());
  EXPECT_TRUE(refinement->Read({read.data(), scan.grid.shape()}).ok());
  return read;
}

std::vector<Timing> Timings() {
  const auto random = std::make_shared<std::mt19937>(7);
  const auto most = [](int count) { return count; };
  return {{most, [] { return -1; }},                  // a fast device
          {most, [] { return 0; }},                   // one that has no time before the last frame
          {[](int) { return 1; }, [] { return 1; }},  // frame by frame, a step between them
          {[random](int count) { return 1 + static_cast<int>((*random)() % count); },
           [random] { return static_cast<int>((*random)() % 4); }}};
}

TEST(EarlyFrames, GoFromHalfOfTheFramesToNearlyAll) {
  EXPECT_THAT(EarlyFrames(496, 6), ElementsAre(248, 354, 414, 449, 469, 481));
  EXPECT_THAT(EarlyFrames(496, 1), ElementsAre(248));
  EXPECT_THAT(EarlyFrames(496, 2), ElementsAre(248, 481));
  EXPECT_THAT(EarlyFrames(496, 0), IsEmpty());
  EXPECT_THAT(EarlyFrames(1, 3), ElementsAre(1, 1, 1));
  EXPECT_THAT(EarlyFrames(3, 3), ElementsAre(2, 3, 3));
}

TEST(EarlyPasses, AreInThePlan) {
  const SmallScan scan = MakeSmallScan();
  const auto device = OpenDevice("reference");
  ops::Device* const devices[] = {device.get()};
  EXPECT_THAT(PlanOf(scan, Early(3), devices).early_frames, ElementsAre(10, 18, 19));
  EXPECT_THAT(PlanOf(scan, Early(0), devices).early_frames, IsEmpty());
}

// The schedule is the plan's: when the frames come, in what pieces, and when there is time for the
// early steps has no say.
TEST(EarlyPasses, HaveTheSameBitsWheneverTheyAreDone) {
  const SmallScan scan = MakeSmallScan(23, 200, 9);
  for (const std::string backend : {"reference", "cpu"}) {
    for (const bool matched : {true, false}) {
      const auto device = OpenDevice(backend);
      ops::Device* const devices[] = {device.get()};
      IterativeSettings settings = Early(4);
      settings.matched = matched;
      const RefinementPlan plan = PlanOf(scan, settings, devices);
      const std::vector<Timing> timings = Timings();
      const std::vector<float> first = RefineLive(scan, plan, devices, timings[0]);
      for (size_t i = 1; i < timings.size(); ++i) {
        EXPECT_EQ(RefineLive(scan, plan, devices, timings[i]), first) << backend << i;
      }
      const Refined all = Refine(scan, settings, backend);
      ASSERT_TRUE(all.status.ok()) << all.status;
      EXPECT_EQ(all.hounsfield, first) << backend;
    }
  }
}

TEST(EarlyPasses, HaveTheSameBitsOnSeveralDevicesAndWithoutRoomForColumnSums) {
  const SmallScan scan = MakeSmallScan(23, 200, 9);
  const Refined whole = Refine(scan, Early(4));
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  std::set<std::pair<int, bool>> ways;
  const auto compare = [&](std::span<ops::Device* const> devices) {
    const RefinementPlan plan = PlanOf(scan, Early(4), devices);
    EXPECT_FALSE(plan.projections_in_host);
    const std::vector<Timing> timings = Timings();
    const std::vector<float> first = RefineLive(scan, plan, devices, timings[0]);
    for (size_t i = 1; i < timings.size(); ++i) {
      EXPECT_EQ(RefineLive(scan, plan, devices, timings[i]), first) << plan.devices();
    }
    // Sums of float64 in another order, and float32 where weights go through host memory.
    EXPECT_LT(LargestDifference(first, whole.hounsfield), 0.01);
  };
  const auto one = OpenDevice("reference"), two = OpenDevice("reference");
  ops::Device* const both[] = {one.get(), two.get()};
  compare(both);
  OwnMemoryDevice ample;
  ops::Device* const device = &ample;
  const int64_t peak = PlanOf(scan, Early(4), {&device, 1}).peak_bytes;
  absl::Status refusal;
  for (int64_t limit = peak; refusal.ok(); limit = limit * 199 / 200) {
    OwnMemoryDevice small(limit);
    ops::Device* const devices[] = {&small};
    const auto plan =
        MakeRefinementPlan(scan.acquisition, scan.grid, {}, Early(4), TestRegistry(), devices);
    refusal = plan.status();
    if (!plan.ok()) break;
    if (!ways.emplace(plan->kept_column_sums, plan->pieces_in_host).second) continue;
    compare(devices);
    EXPECT_LE(small.allocated_bytes(), 4 * limit);  // of four runs
  }
  EXPECT_GE(ways.size(), 5u);  // all four, fewer and fewer, none
  EXPECT_EQ(refusal.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refusal.message(), HasSubstr("needs"));
  EXPECT_THAT(refusal.message(), HasSubstr("as it has early passes"));
}

// With FDK's volume only the sums of rows and columns are made early: the passes are the same.
TEST(EarlyPasses, OnlyWeighFramesWhereThereIsAVolumeToBeginWith) {
  const SmallScan scan = MakeSmallScan(23, 360, 9);
  for (const std::string backend : {"reference", "cpu"}) {
    const auto device = OpenDevice(backend);
    ops::Device* const devices[] = {device.get()};
    IterativeSettings settings = Early(4);
    settings.warm_start = true;
    const Refined all = Refine(scan, settings, backend);
    ASSERT_TRUE(all.status.ok()) << all.status;
    ASSERT_TRUE(all.plan.warm_start.has_value());
    std::vector<float> fdk(scan.grid.voxels());
    const auto reconstructor =
        *Reconstructor::Create(*all.plan.warm_start, TestRegistry(), *device);
    ASSERT_TRUE(reconstructor->Run(scan.raw(), {fdk.data(), scan.grid.shape()}).ok());
    for (const Timing& timing : Timings()) {
      EXPECT_EQ(RefineLive(scan, all.plan, devices, timing, {}, {fdk.data(), scan.grid.shape()}),
                all.hounsfield)
          << backend;
    }
    settings.early_passes = 0;
    const Refined ordinary = Refine(scan, settings, backend);
    ASSERT_TRUE(ordinary.status.ok()) << ordinary.status;
    EXPECT_LT(LargestDifference(ordinary.hounsfield, all.hounsfield), 0.01);
    EXPECT_NEAR(ordinary.reports.back().relative_residual, all.reports.back().relative_residual,
                1e-6);
  }
}

TEST(EarlyPasses, UseTheMatricesThatWereMeasured) {
  const SmallScan scan = MakeSmallScan(23, 200, 9);
  // Half a pixel beside where they were planned.
  std::vector<ProjectionMatrix> measured;
  for (const ProjectionMatrix& planned : scan.acquisition.trajectory) {
    ProjectionMatrix& moved = measured.emplace_back(planned);
    for (int i = 0; i < 4; ++i) moved.m[i] += 0.5 * moved.m[8 + i];
  }
  const auto device = OpenDevice("reference");
  ops::Device* const devices[] = {device.get()};
  const RefinementPlan plan = PlanOf(scan, Early(4), devices);
  const std::vector<Timing> timings = Timings();
  const std::vector<float> first = RefineLive(scan, plan, devices, timings[0], measured);
  for (size_t i = 1; i < timings.size(); ++i) {
    EXPECT_EQ(RefineLive(scan, plan, devices, timings[i], measured), first);
  }
  // The same as if they had been planned so.
  SmallScan planned = scan;
  planned.acquisition.trajectory = measured;
  EXPECT_LT(LargestDifference(Refine(planned, Early(4)).hounsfield, first), 0.01);
}

// A volume of ones is explained by each ray alone, so that one step of any subset gives it to all
// voxels, which each view sees here: the sums of rows and columns must be those of the views that
// are there, and of all of them in the end.
TEST(EarlyPasses, NormaliseWhatIsThere) {
  SmallScan scan = MakeSmallScan(12, 200);
  scan.truth.assign(scan.grid.voxels(), 0.03f);
  Project(ops::ProjectorModel::kJoseph, scan);
  for (const bool matched : {true, false}) {
    for (const int early : {1, 3}) {
      IterativeSettings settings = Early(early, 1);
      settings.matched = matched;
      const Refined refined = Refine(scan, settings);
      ASSERT_TRUE(refined.status.ok()) << refined.status;
      EXPECT_THAT(refined.hounsfield, Each(FloatNear(500, 0.01))) << matched << early;
      EXPECT_LT(refined.reports.front().relative_residual, 1e-5);
    }
  }
}

// What the early passes have done need not be done after the last frame.
TEST(EarlyPasses, StandForPasses) {
  const SmallScan scan = MakeSmallScan(46, 200, 10);
  const auto error = [&](int early, int iterations) {
    const Refined refined = Refine(scan, Early(early, iterations));
    EXPECT_TRUE(refined.status.ok()) << refined.status;
    return RmseOf(scan, refined.hounsfield);
  };
  const double two = error(0, 2), eight = error(0, 8), early = error(6, 2);
  std::printf("2 passes %.2f HU, 8 passes %.2f HU, 6 early and 2 passes %.2f HU from the truth\n",
              two, eight, early);
  EXPECT_LT(early, 1.2 * eight);
  EXPECT_LT(early, 0.5 * two);
}

TEST(EarlyPasses, MayBeGivenUpInTheMiddle) {
  const SmallScan scan = MakeSmallScan();
  OwnMemoryDevice device;
  ops::Device* const devices[] = {&device};
  const RefinementPlan plan = PlanOf(scan, Early(3), devices);
  const auto refinement = *Refinement::Create(plan, TestRegistry(), devices);
  EXPECT_TRUE(*refinement->StepEarly());  // nothing is there yet
  ASSERT_TRUE(refinement->Push(scan.raw().views(0, 5)).ok());
  EXPECT_TRUE(*refinement->StepEarly());
  ASSERT_TRUE(refinement->Push(scan.raw().views(5, 5)).ok());
  EXPECT_FALSE(*refinement->StepEarly());
  EXPECT_FALSE(*refinement->StepEarly());
  EXPECT_FALSE(refinement->readable());
  EXPECT_EQ(refinement->progress(), 0);
  EXPECT_EQ(refinement->Start({}).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(EarlyPasses, BeginFromZeroAndBeforeTheStart) {
  const SmallScan scan = MakeSmallScan();
  const auto device = OpenDevice("reference");
  ops::Device* const devices[] = {device.get()};
  const RefinementPlan plan = PlanOf(scan, Early(3), devices);
  const auto refinement = *Refinement::Create(plan, TestRegistry(), devices);
  for (int view = 0; view < plan.views(); view += plan.chunk_views) {
    const int count = std::min(plan.chunk_views, plan.views() - view);
    ASSERT_TRUE(refinement->Push(scan.raw().views(view, count)).ok());
  }
  const std::vector<float> volume(scan.grid.voxels());
  const absl::Status refused = refinement->Start({volume.data(), scan.grid.shape()});
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("beside 3 early passes"));
  ASSERT_TRUE(refinement->Start({}).ok());
  EXPECT_EQ(refinement->StepEarly().status().code(), absl::StatusCode::kFailedPrecondition);
  // They are done now, and count as passes.
  EXPECT_EQ(refinement->progress(), 0);
  double before = 0;
  while (!refinement->readable()) {
    EXPECT_FALSE(*refinement->Step());
    EXPECT_GT(refinement->progress(), before);
    before = refinement->progress();
  }
  EXPECT_TRUE(refinement->reports().empty());
  EXPECT_DOUBLE_EQ(refinement->progress(), 3. / 5);
  for (bool done = false; !done;) done = *refinement->Step();
  EXPECT_EQ(refinement->progress(), 1);
}

TEST(EarlyPasses, AreForOsSart) {
  const auto message = [](IterativeSettings settings) {
    return std::string(ValidateIterativeSettings(settings).message());
  };
  IterativeSettings settings = Early(64);
  EXPECT_EQ(message(settings), "");
  settings.early_passes = 65;
  EXPECT_THAT(message(settings), HasSubstr("iterative.early_passes is 65; legal is 0 to 64"));
  settings.early_passes = -1;
  EXPECT_THAT(message(settings), HasSubstr("iterative.early_passes is -1; legal is 0 to 64"));
  settings = {.algorithm = Algorithm::kSirt, .warm_start = false, .early_passes = 6};
  EXPECT_THAT(message(settings), HasSubstr("early_passes is not for sirt; legal is 0, or os_sart"));
}

}  // namespace
}  // namespace isocenter::recon
