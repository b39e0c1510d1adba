// A second pass against scatter: what it needs, what it refuses, and that it takes off what it
// computes.
#include "kernels/recon/second_pass/scatter_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/recon/plan_text.h"
#include "kernels/recon/second_pass/binned_lines.h"
#include "kernels/recon/second_pass/compute_scatter.h"
#include "kernels/recon/second_pass/second_pass.h"
#include "tests/kernels/recon/iterative/small_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;

constexpr double kI0 = 40000;

/// The small scan as counts of a detector whose calibration has a scatter model.
struct CountsScan {
  SmallScan scan = MakeSmallScan();
  std::vector<uint16_t> counts;

  explicit CountsScan(double scale = 1, float dense = 1) {
    scan.acquisition.pixel_type = PixelType::kUint16Counts;
    scan.acquisition.i0_counts = kI0;
    Know({.name = "model",
          .detector = scan.acquisition.detector,
          .scatter_model = ops::ScatterModel{.scale = scale},
          .water = {.coefficient = {1.01, 0.01}},
          .mu_water_per_mm = kMuWater});
    for (const float p : scan.frames) {
      counts.push_back(static_cast<uint16_t>(std::lround(kI0 * std::exp(-dense * p))));
    }
  }
  void Know(ops::Calibration known) {
    scan.acquisition.calibration = std::make_shared<const ops::Calibration>(std::move(known));
  }
  ops::Calibration known() const { return *scan.acquisition.calibration; }
  ops::RawFrames raw() const { return {.counts = {counts.data(), scan.frame_shape()}}; }
};

constexpr SecondPassSettings kScatter{.scatter = true};

absl::StatusOr<SecondPassPlan> PlanOf(const CountsScan& scan, ops::Device& device,
                                      const SecondPassSettings& settings = kScatter) {
  const ops::Device* const devices[] = {&device};
  auto plan = MakeSecondPassPlan(scan.scan.acquisition, scan.scan.grid,
                                 {.mu_water_per_mm = kMuWater}, settings, TestRegistry(), devices);
  if (plan.ok() && plan->scatter) plan->scatter->photons = 4000;  // noise is no matter here
  return plan;
}

struct Made {
  absl::Status status;
  std::vector<float> volume;
  std::vector<std::string> findings;
};

Made Twice(const CountsScan& scan, ops::Device& device,
           const SecondPassSettings& settings = kScatter) {
  Made made;
  const auto plan = PlanOf(scan, device, settings);
  made.status = plan.status();
  if (!plan.ok()) return made;
  ops::Device* const devices[] = {&device};
  made.volume.resize(scan.scan.grid.voxels());
  made.status = ReconstructTwice(*plan, TestRegistry(), devices, scan.raw(),
                                 {made.volume.data(), scan.scan.grid.shape()}, {}, &made.findings);
  return made;
}

double MiddleOf(const CountsScan& scan, const std::vector<float>& volume) {
  const VolumeGrid& grid = scan.scan.grid;
  return volume[(int64_t{grid.nz / 2} * grid.ny + grid.ny / 2) * grid.nx + grid.nx / 2];
}

TEST(ScatterPass, TakesOffWhatItComputesOnEveryBackend) {
  const CountsScan scan;
  std::vector<std::vector<float>> volumes;
  for (const std::string backend : {"reference", "cpu"}) {
    const auto device = OpenDevice(backend);
    const Made made = Twice(scan, *device);
    ASSERT_TRUE(made.status.ok()) << made.status;
    volumes.push_back(made.volume);
    ASSERT_EQ(made.findings.size(), 1u);
    EXPECT_THAT(made.findings[0], HasSubstr("scatter: up to 0."));
  }
  // Photons that fly through coarse volumes of different rounding part ways.
  EXPECT_LT(LargestDifference(volumes[0], volumes[1]), 5);
  const auto device = OpenDevice("cpu");
  const CountsScan less(0.01);
  const Made nothing = Twice(less, *device);
  ASSERT_TRUE(nothing.status.ok()) << nothing.status;
  // The frames had no scatter: what is taken off is missing.
  EXPECT_GT(MiddleOf(scan, volumes[1]), MiddleOf(less, nothing.volume) + 20);
  EXPECT_EQ(Twice(scan, *device).volume, volumes[1]);
}

TEST(ScatterPass, IsOfTheFramesBeforeKernelsAndPolynomial) {
  const auto device = OpenDevice("cpu");
  CountsScan scan;
  const Made without = Twice(scan, *device);
  ops::Calibration known = scan.known();
  known.scatter = {.groups = {{.amplitude = 0.2, .narrow_sigma_mm = 60, .wide_sigma_mm = 100}},
                   .mu_water_per_mm = kMuWater};
  scan.Know(known);
  const Made with = Twice(scan, *device);
  ASSERT_TRUE(with.status.ok()) << with.status;
  EXPECT_EQ(with.volume, without.volume);
}

TEST(ScatterPass, SaysWhatItNeeds) {
  const auto device = OpenDevice("cpu");
  CountsScan scan;
  ops::Calibration known = scan.known();
  known.scatter_model.reset();
  scan.Know(known);
  EXPECT_THAT(std::string(PlanOf(scan, *device).status().message()),
              HasSubstr("'model' has no scatter model; legal"));
  known.scatter_model = ops::ScatterModel();
  known.mu_water_per_mm = 0;
  scan.Know(known);
  EXPECT_THAT(std::string(PlanOf(scan, *device).status().message()),
              HasSubstr("'model' has no attenuation of water; legal"));
  known.mu_water_per_mm = 0.002;
  scan.Know(known);
  EXPECT_THAT(std::string(PlanOf(scan, *device).status().message()),
              HasSubstr("mu_water_per_mm is 0.002; legal for a model of scatter"));
  known.mu_water_per_mm = kMuWater;
  known.water.hardness.assign(known.detector.columns, 0.5f);
  scan.Know(known);
  EXPECT_THAT(std::string(PlanOf(scan, *device).status().message()),
              HasSubstr("'model' has hardness of columns (a bow-tie)"));
  scan.scan.acquisition.calibration = nullptr;
  EXPECT_THAT(std::string(PlanOf(scan, *device).status().message()),
              HasSubstr("has no calibration"));
}

TEST(ScatterPass, RefusesMoreThanWasMeasured) {
  const auto device = OpenDevice("cpu");
  const Made made = Twice(CountsScan(10, 3), *device);
  EXPECT_EQ(made.status.code(), absl::StatusCode::kFailedPrecondition) << made.status;
  EXPECT_TRUE(made.findings.empty());
}

TEST(ScatterPass, RefusesAnObjectThatIsCut) {
  const auto device = OpenDevice("cpu");
  CountsScan scan;
  // The middle of the detector, of which the object is wider.
  const Shape3 shape = scan.scan.frame_shape();
  constexpr int kCut = 9;
  std::vector<uint16_t> cut;
  for (size_t i = 0; i < scan.counts.size(); ++i) {
    const auto u = static_cast<int64_t>(i) % shape.fast;
    if (u >= kCut && u < shape.fast - kCut) cut.push_back(scan.counts[i]);
  }
  scan.counts = cut;
  Acquisition& acquisition = scan.scan.acquisition;
  acquisition.detector.columns -= 2 * kCut;
  for (ProjectionMatrix& matrix : acquisition.trajectory) {
    for (int i = 0; i < 4; ++i) matrix.m[i] -= kCut * matrix.m[8 + i];
  }
  ops::Calibration known = scan.known();
  known.detector = acquisition.detector;
  scan.Know(known);
  const Made made = Twice(scan, *device);
  EXPECT_EQ(made.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(made.status.message()),
              HasSubstr("of the detector's rows end inside of the object; legal"));
}

TEST(ScatterPass, TakesWhatItsPlanStates) {
  const CountsScan scan;
  const auto ample = OpenDevice("cpu");
  const auto plan = PlanOf(scan, *ample);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(PlanText(*plan), HasSubstr("second pass against scatter\n"));
  EXPECT_EQ(plan->peak_bytes, TotalBytes(plan->device_parts));
  EXPECT_EQ(plan->host_bytes, TotalBytes(plan->host_parts));
  const auto device = OpenDevice("cpu", plan->peak_bytes);
  const Made made = Twice(scan, *device);
  ASSERT_TRUE(made.status.ok()) << made.status;
  EXPECT_EQ(made.volume, Twice(scan, *ample).volume);
}

// What others look for is looked for in the volume without scatter.
TEST(ScatterPass, GoesWithTheOthers) {
  const CountsScan scan;
  const auto device = OpenDevice("cpu");
  const Made alone = Twice(scan, *device);
  const Made metal =
      Twice(scan, *device, {.metal = MetalSettings{.trace_margin_px = 1}, .scatter = true});
  ASSERT_TRUE(metal.status.ok()) << metal.status;
  EXPECT_EQ(metal.volume, alone.volume) << "there is no metal";
  const Made stripes = Twice(scan, *device, {.stripes = true, .scatter = true});
  ASSERT_TRUE(stripes.status.ok()) << stripes.status;
  EXPECT_NE(stripes.volume, alone.volume);
}

TEST(ScatterPass, CanBeLeftAtAnyTime) {
  const CountsScan scan;
  const auto device = OpenDevice("cpu");
  const auto plan = PlanOf(scan, *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ops::Device* const devices[] = {device.get()};
  std::vector<float> volume(scan.scan.grid.voxels());
  for (const int steps : {1, 3, 12}) {
    auto pass = *NewSecondPass(*plan, TestRegistry(), devices);
    for (int view = 0; view < plan->views(); ++view) {
      ASSERT_TRUE(pass->Push(scan.raw().views(view, 1)).ok());
    }
    ASSERT_TRUE(pass->Start(HostView3<const float>(volume.data(), scan.scan.grid.shape())).ok());
    for (int i = 0; i < steps; ++i) ASSERT_TRUE(pass->Step().ok());
    EXPECT_TRUE(pass->findings().empty());
  }
}

TEST(ComputeScatter, IsProportionalToTheScaleAndTakesFramesForThePrimary) {
  const auto device = OpenDevice("cpu");
  ops::Device* const devices[] = {device.get()};
  std::vector<std::vector<double>> cells;
  for (const double scale : {1.0, 0.5}) {
    const CountsScan scan(scale);
    const auto plan = PlanOf(scan, *device);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const auto computed = ComputeScatter(*plan, TestRegistry(), devices, scan.raw());
    ASSERT_TRUE(computed.ok()) << computed.status();
    EXPECT_EQ(computed->cells.size(), plan->scatter->sampled.size());
    EXPECT_LT(computed->findings.unexplained, 0.1);
    EXPECT_GT(computed->findings.first_share, 0.5);
    cells.push_back(computed->cells[3]);
  }
  for (size_t i = 0; i < cells[0].size(); ++i) EXPECT_NEAR(cells[1][i], cells[0][i] / 2, 1e-12);
}

TEST(BinnedLines, AMatrixOfBinnedPixelsMeetsTheirMiddles) {
  const CountsScan scan;
  ScatterPlan plan;
  plan.bin = 4;
  plan.first_column = 1;
  plan.first_row = 3;
  const ProjectionMatrix& matrix = scan.scan.acquisition.trajectory[2];
  const Vec3 at{10, -5, 7};
  const Projected fine = matrix.Project(at), coarse = Binned(matrix, plan).Project(at);
  // The first binned pixel's middle is at 1 + 1.5 and 3 + 1.5.
  EXPECT_NEAR(coarse.u(), (fine.u() - 2.5) / 4, 1e-9);
  EXPECT_NEAR(coarse.v(), (fine.v() - 4.5) / 4, 1e-9);
}

// A volume of water of which no slice is seen by all views at its ends.
TEST(BinnedLines, SlicesThatFewSeeAreEvenedOut) {
  const CountsScan scan;
  const auto device = OpenDevice("cpu");
  const auto plan = PlanOf(scan, *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const VolumeGrid& grid = plan->scatter->coarse.grid;
  std::vector<float> volume(grid.voxels(), 0.f);
  const HostView3<float> view(volume.data(), grid.shape());
  // As back-projection leaves it beyond the beam: nothing.
  for (float& hu : view.slices(0, 1).span()) hu = -1000;
  EvenOutSlices(*plan->scatter, scan.scan.acquisition.trajectory, view);
  EXPECT_EQ(view(grid.nz / 2, 3, 3), 0);
  EXPECT_GE(view(0, grid.ny / 2, grid.nx / 2), 0);
}

}  // namespace
}  // namespace isocenter::recon
