// A volume of one phase as a refinement: the bits that its frames alone give, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/base/units.h"
#include "kernels/recon/any_refinement.h"
#include "kernels/recon/gating/gated_frames.h"
#include "kernels/recon/gating/line_integrals.h"
#include "kernels/recon/plan_text.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/reference/register.h"

namespace isocenter::recon {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kViews = 120, kColumns = 24, kRows = 16;
const VolumeGrid kGrid = CenteredGrid(12, 12, 8, {5, 5, 5});
constexpr PhaseWindow kWindow{.centre = 0.5, .width = 0.3};

class GatedVolumeTest : public testing::Test {
 protected:
  GatedVolumeTest() {
    reference::Register(registry_);
    device_ = *registry_.OpenDevice("reference", {.memory_bytes = 64 << 20, .threads = 1});
    devices_ = {device_.get()};
    scan_ = {.detector = {.columns = kColumns, .rows = kRows, .pitch_u_mm = 8, .pitch_v_mm = 8},
             .i0_counts = 1000};
    scan_.trajectory = *MakeCircularOrbit({.views = kViews,
                                           .source_to_isocenter_mm = 750,
                                           .source_to_detector_mm = 1200,
                                           .arc = DegreesToRadians(204)},
                                          scan_.detector);
    for (int view = 0; view < kViews; ++view) scan_.phases.push_back(float(view % 12) / 12);
    for (int i = 0; i < kViews * kColumns * kRows; ++i) {
      counts_.push_back(static_cast<uint16_t>(300 + 200 * std::sin(0.01 * i)));
    }
  }

  ops::RawFrames Frames(int first, int count) const {
    return {
        .counts = {counts_.data() + int64_t{first} * kColumns * kRows, {count, kRows, kColumns}}};
  }
  /// Driven as a service does it: `chunk` frames at a time.
  std::vector<float> Volume(const RefinementSettings& settings, int chunk) {
    const auto plan =
        PlanRefinement(scan_, kGrid, {}, settings, registry_, devices_, Arrival::kComplete);
    EXPECT_TRUE(plan.ok()) << plan.status();
    std::vector<float> volume(kGrid.voxels());
    const HostView3<float> voxels(volume.data(), kGrid.shape());
    const RefinementBasis& basis = BasisOf(*plan);
    if (basis.warm_start) {
      const auto first = *Reconstructor::Create(*basis.warm_start, registry_, devices_);
      EXPECT_TRUE(first->Run(Frames(0, kViews), voxels).ok());
    }
    const auto refinement = *NewRefinement(*plan, registry_, devices_);
    for (int view = 0; view < kViews; view += chunk) {
      const absl::Status pushed = refinement->Push(Frames(view, std::min(chunk, kViews - view)));
      EXPECT_TRUE(pushed.ok()) << pushed;
    }
    EXPECT_FALSE(refinement->readable());
    EXPECT_TRUE(
        refinement
            ->Start(basis.warm_start ? HostView3<const float>(voxels) : HostView3<const float>())
            .ok());
    double before = 0;
    for (bool done = false; !done;) {
      const auto step = refinement->Step();
      EXPECT_TRUE(step.ok()) << step.status();
      done = !step.ok() || *step;
      EXPECT_GE(refinement->progress(), before);
      before = refinement->progress();
    }
    EXPECT_EQ(refinement->progress(), 1);
    EXPECT_TRUE(refinement->Read(voxels).ok());
    findings_ = refinement->findings();
    EXPECT_THAT(findings_, Contains(HasSubstr("phase 0.5, width 0.3: ")));
    return volume;
  }
  /// The phase's frames alone, as `isocenter reconstruct --phase` takes them.
  GatedFrames Chosen() {
    std::vector<float> told;
    for (const auto& phase : scan_.phases) told.push_back(*phase);
    const auto lines = LineIntegralsOf(scan_, registry_, *device_, Frames(0, kViews));
    return *ChooseFrames(scan_, *lines, told, kWindow);
  }

  ops::Registry registry_;
  std::unique_ptr<ops::Device> device_;
  std::vector<ops::Device*> devices_;
  Acquisition scan_;
  std::vector<uint16_t> counts_;
  std::vector<std::string> findings_;  // of the last volume
};

TEST_F(GatedVolumeTest, FilteredBackProjectionIsThatOfItsFramesAlone) {
  const GatedFrames chosen = Chosen();
  std::vector<float> alone(kGrid.voxels());
  const auto plan =
      *MakePlan(chosen.acquisition, kGrid, {}, registry_, *device_, Arrival::kComplete);
  const auto reconstructor = *Reconstructor::Create(plan, registry_, devices_);
  ASSERT_TRUE(reconstructor->Run(chosen.view(), {alone.data(), kGrid.shape()}).ok());
  const RefinementSettings settings = GatedSettings{.window = kWindow};
  const std::vector<float> volume = Volume(settings, 7);
  EXPECT_EQ(volume, alone);
  EXPECT_EQ(Volume(settings, 1), alone);
  std::vector<float> all(kGrid.voxels());
  const auto whole = *MakePlan(scan_, kGrid, {}, registry_, *device_, Arrival::kComplete);
  ASSERT_TRUE((*Reconstructor::Create(whole, registry_, devices_))
                  ->Run(Frames(0, kViews), {all.data(), kGrid.shape()})
                  .ok());
  EXPECT_NE(volume, all);
}

TEST_F(GatedVolumeTest, IterationsBeginWithTheVolumeOfAllFrames) {
  const IterativeSettings iterative{.algorithm = Algorithm::kOsSart, .iterations = 2, .subsets = 4};
  std::vector<float> alone(kGrid.voxels());
  const HostView3<float> voxels(alone.data(), kGrid.shape());
  const auto whole = *MakePlan(scan_, kGrid, {}, registry_, *device_, Arrival::kComplete);
  ASSERT_TRUE(
      (*Reconstructor::Create(whole, registry_, devices_))->Run(Frames(0, kViews), voxels).ok());
  const GatedFrames chosen = Chosen();
  IterativeSettings cold = iterative;
  cold.warm_start = false;
  const auto plan = *MakeRefinementPlan(chosen.acquisition, kGrid, {}, cold, registry_, devices_);
  const auto reports = RefineFrom(voxels, plan, registry_, devices_, chosen.view(), voxels);
  ASSERT_TRUE(reports.ok()) << reports.status();
  EXPECT_EQ(Volume(GatedSettings{.window = kWindow, .iterative = iterative}, 7), alone);
  // The frames are no object's.
  EXPECT_THAT(findings_, ElementsAre(HasSubstr("phase 0.5"), HasSubstr("wider than the grid"),
                                     HasSubstr("longer than the grid")));
}

TEST_F(GatedVolumeTest, ALostFrameIsInNoGate) {
  const Gate all = *GateOf(scan_.trajectory, scan_.phases, kWindow);
  scan_.phases[all.chosen.views[3]].reset();
  const Gate without = *GateOf(scan_.trajectory, scan_.phases, kWindow);
  std::vector<int> expected = all.chosen.views;
  expected.erase(expected.begin() + 3);
  EXPECT_EQ(without.chosen.views, expected);
  // The plan's steps still add up to the arc: the others stand for it.
  EXPECT_TRUE(PlanRefinement(scan_, kGrid, {}, GatedSettings{.window = kWindow}, registry_,
                             devices_, Arrival::kComplete)
                  .ok());
}

TEST_F(GatedVolumeTest, ThinGatesAndMissingPhasesAreRefusedWithFigures) {
  const auto refusal = [&](const PhaseWindow& window) {
    return std::string(PlanRefinement(scan_, kGrid, {}, GatedSettings{.window = window}, registry_,
                                      devices_, Arrival::kComplete)
                           .status()
                           .message());
  };
  EXPECT_THAT(refusal({.centre = 0.54, .width = 0.01}),
              AllOf(HasSubstr("around phase 0.54 holds 0 of 120 frames"), HasSubstr("8 or more")));
  EXPECT_THAT(
      std::string(PlanRefinement(scan_, kGrid, {},
                                 GatedSettings{.window = kWindow,
                                               .iterative = IterativeSettings{.warm_start = false,
                                                                              .early_passes = 4}},
                                 registry_, devices_, Arrival::kComplete)
                      .status()
                      .message()),
      HasSubstr("iterative.early_passes is 4; legal is 0 for a volume of one phase"));
  EXPECT_THAT(refusal({.centre = 1, .width = 0.2}), HasSubstr("is 1; legal is 0 to less than 1"));
  scan_.phases.clear();
  EXPECT_THAT(refusal(kWindow), HasSubstr("phases of 0 frames; legal is one for each of 120"));
}

TEST_F(GatedVolumeTest, ThePlanCountsTheFramesOfThePhase) {
  const auto plan = *PlanRefinement(scan_, kGrid, {}, GatedSettings{.window = kWindow}, registry_,
                                    devices_, Arrival::kComplete);
  const auto& gated = std::get<GatedPlan>(plan);
  const auto chosen = static_cast<int64_t>(gated.gate.chosen.views.size());
  EXPECT_GE(gated.host_bytes, chosen * kColumns * kRows * 4 + 2 * VolumeBytes(kGrid));
  EXPECT_GT(gated.peak_bytes, 0);
  EXPECT_FALSE(gated.warm_start.has_value());
  EXPECT_THAT(PlanTextOf(plan),
              AllOf(HasSubstr("phase 0.5, width 0.3: "), HasSubstr("line integrals of the phase")));
  EXPECT_FALSE(HasLargeGap({.largest_gap = DegreesToRadians(4.9)}));
  EXPECT_TRUE(HasLargeGap({.largest_gap = DegreesToRadians(5.1)}));
}

}  // namespace
}  // namespace isocenter::recon
