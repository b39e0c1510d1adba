#include "kernels/recon/gating/gating.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/base/units.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/gating/line_integrals.h"
#include "kernels/recon/plan.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/reference/register.h"

namespace isocenter::recon {
namespace {

using testing::HasSubstr;

const ops::Registry& TestRegistry() {
  static const auto* const registry = [] {
    auto* made = new ops::Registry;
    reference::Register(*made);
    return made;
  }();
  return *registry;
}

Acquisition ScanOf(int views, double arc_deg) {
  Acquisition scan{.detector = {.columns = 24, .rows = 16, .pitch_u_mm = 8, .pitch_v_mm = 8},
                   .i0_counts = 1000};
  scan.trajectory = *MakeCircularOrbit({.views = views,
                                        .source_to_isocenter_mm = 750,
                                        .source_to_detector_mm = 1200,
                                        .arc = DegreesToRadians(arc_deg)},
                                       scan.detector);
  return scan;
}

const VolumeGrid kGrid = CenteredGrid(12, 12, 8, {5, 5, 5});

std::vector<float> Frames(const Acquisition& scan) {
  std::vector<float> lines(scan.trajectory.size() * 24 * 16);
  for (size_t i = 0; i < lines.size(); ++i) lines[i] = 1 + 0.3F * std::sin(0.01F * float(i));
  return lines;
}

std::vector<float> Fdk(const Acquisition& acquisition, const std::vector<float>& lines) {
  const auto device = *TestRegistry().OpenDevice("reference", {});
  ops::Device* const devices[] = {device.get()};
  const auto plan = MakePlan(acquisition, kGrid, {}, TestRegistry(), *device, Arrival::kComplete);
  EXPECT_TRUE(plan.ok()) << plan.status();
  std::vector<float> volume(kGrid.voxels());
  const auto reconstructor = *Reconstructor::Create(*plan, TestRegistry(), devices);
  const auto views = static_cast<int64_t>(acquisition.trajectory.size());
  EXPECT_TRUE(
      reconstructor
          ->Run({.line_integrals = {lines.data(), {views, 16, 24}}}, {volume.data(), kGrid.shape()})
          .ok());
  return volume;
}

// A window of the whole cycle is the scan.
TEST(Gating, OfAllFramesIsTheScanItself) {
  for (const double arc : {204.0, 360.0 * 59 / 60}) {
    Acquisition scan = ScanOf(60, arc);
    scan.pixel_type = PixelType::kFloat32LineIntegrals;
    const std::vector<float> phases(60, 0.5F), lines = Frames(scan);
    const Acquisition gated =
        *GatedAcquisition(scan, *ChooseViews(phases, {.centre = 0.1, .width = 1}));
    const std::vector<float> a = Fdk(scan, lines), b = Fdk(gated, lines);
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-2);  // HU
  }
}

// Frames of one phase stand for the whole arc: the weights of a ray's views add up to the same.
TEST(Gating, StepsOfAPhaseAddUpToTheArc) {
  Acquisition scan = ScanOf(120, 204);
  std::vector<float> phases;
  for (int view = 0; view < 120; ++view) phases.push_back(float(view % 12) / 12);
  const RedundancyTable whole =
      *ComputeRedundancy(scan.trajectory, scan.detector, RedundancyWeighting::kAuto);
  RedundancyTable table = whole;
  const ChosenViews chosen = *ChooseViews(phases, {.centre = 0.5, .width = 0.25});
  KeepChosenViews(chosen, table);
  const double gap = *LargestGap(scan.trajectory, chosen);
  EXPECT_EQ(table.views, int(chosen.views.size()));
  EXPECT_NEAR(std::accumulate(table.angular_step.begin(), table.angular_step.end(), 0.0),
              whole.outline.arc, 1e-9);
  EXPECT_NEAR(gap, whole.outline.arc * 7 / 120, 0.01);  // seven of twelve are not chosen
  for (int i = 0; i < table.views; ++i) {
    EXPECT_EQ(table.weight[i * 24 + 5], whole.weight[chosen.views[i] * 24 + 5]);
  }
}

TEST(Gating, PlansTakeChosenViewsAndRefuseCounts) {
  const auto device = *TestRegistry().OpenDevice("reference", {});
  const Acquisition scan = ScanOf(120, 204);
  std::vector<float> phases;
  for (int view = 0; view < 120; ++view) phases.push_back(float(view % 12) / 12);
  Acquisition gated = *GatedAcquisition(scan, *ChooseViews(phases, {.centre = 0.5, .width = 0.25}));
  const auto plan = MakePlan(gated, kGrid, {}, TestRegistry(), *device);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->views(), int(gated.trajectory.size()));
  gated.pixel_type = PixelType::kUint16Counts;
  EXPECT_THAT(std::string(MakePlan(gated, kGrid, {}, TestRegistry(), *device).status().message()),
              HasSubstr("legal are line integrals"));
  gated.pixel_type = PixelType::kFloat32LineIntegrals;
  gated.trajectory.pop_back();
  EXPECT_THAT(std::string(MakePlan(gated, kGrid, {}, TestRegistry(), *device).status().message()),
              HasSubstr("views are chosen; legal is as many"));
}

TEST(Gating, LineIntegralsAreThoseOfTheCounts) {
  const auto device = *TestRegistry().OpenDevice("reference", {});
  const Acquisition scan = ScanOf(37, 204);
  std::vector<uint16_t> counts(37 * 24 * 16);
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = uint16_t(1 + i % 999);
  const auto lines =
      LineIntegralsOf(scan, TestRegistry(), *device, {.counts = {counts.data(), {37, 16, 24}}});
  ASSERT_TRUE(lines.ok()) << lines.status();
  for (size_t i = 0; i < counts.size(); i += 17) {
    EXPECT_NEAR((*lines)[i], std::log(1000.0 / counts[i]), 1e-5);
  }
  EXPECT_EQ(
      LineIntegralsOf(scan, TestRegistry(), *device, {.counts = {counts.data(), {36, 16, 24}}})
          .status()
          .code(),
      absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace isocenter::recon
