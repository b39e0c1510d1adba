// Volumes of one phase as jobs: the bits of their frames alone, whatever interrupts the scan or
// them, and what is refused.
#include "kernels/recon/gating/gated_frames.h"
#include "kernels/recon/gating/line_integrals.h"
#include "tests/server/pipeline/refinement_fixture.h"

namespace isocenter::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr PhaseWindow kWindow{.centre = 0.5, .width = 0.5};

/// Four cycles of ten frames.
std::optional<float> PhaseOf(int view) { return static_cast<float>(view % 10) / 10; }

class PhaseJobTest : public RefinementTest {
 protected:
  static AcquisitionRequest Heart(recon::PixelType type = recon::PixelType::kFloat32LineIntegrals) {
    AcquisitionRequest request = SmallRequest(type);
    request.phase_cycle = jobs::PhaseCycle::kCardiac;
    request.frame_rate_hz = 10;
    return request;
  }
  RefinementRequest PhaseRecipe(const PhaseWindow& window, int iterations = 0) {
    RefinementRequest request = Recipe(iterations);
    recon::GatedSettings gated{.window = window};
    if (iterations > 0) gated.iterative = std::get<recon::IterativeSettings>(request.settings);
    request.settings = gated;
    request.record += " phase";
    // As the translation of a record does, which does not know the phase.
    RefinementRequest kept = request;
    std::get<recon::GatedSettings>(kept.settings).window = {};
    recipes_[request.record] = kept;
    return request;
  }
  std::string AcquireHeart(const AcquisitionRequest& request = Heart()) {
    const Live live = Begin(request);
    live.console->phase = PhaseOf;
    EXPECT_TRUE(live.console->Send(0, kFrames).ok());
    EXPECT_TRUE(live.console->Finish().ok());
    const jobs::Job job = AwaitEnd(live.id);
    EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
    return live.id;
  }
  /// The volume that the phase's frames alone make.
  static std::vector<float> Alone(const AcquisitionRequest& request = Heart()) {
    const auto device =
        *Backends().OpenDevice("reference", {.memory_bytes = 64 << 20, .threads = 1});
    ops::Device* const devices[] = {device.get()};
    std::string frames;
    std::vector<float> phases;
    for (int view = 0; view < kFrames; ++view) {
      frames += SmallFrame(request.acquisition, view);
      phases.push_back(*PhaseOf(view));
    }
    const Detector& detector = request.acquisition.detector;
    const Shape3 shape{kFrames, detector.rows, detector.columns};
    ops::RawFrames raw;
    if (request.acquisition.pixel_type == recon::PixelType::kUint16Counts) {
      raw.counts = {reinterpret_cast<const uint16_t*>(frames.data()), shape};
    } else {
      raw.line_integrals = {reinterpret_cast<const float*>(frames.data()), shape};
    }
    const auto lines = *recon::LineIntegralsOf(request.acquisition, Backends(), *device, raw);
    const auto chosen = *recon::ChooseFrames(request.acquisition, lines, phases, kWindow);
    const VolumeGrid grid = std::get<VolumeGrid>(request.grid);
    const auto plan = *recon::MakePlan(chosen.acquisition, grid, request.settings, Backends(),
                                       devices, recon::Arrival::kComplete);
    std::vector<float> volume(grid.voxels());
    const auto reconstructor = *recon::Reconstructor::Create(plan, Backends(), devices);
    EXPECT_TRUE(reconstructor->Run(chosen.view(), {volume.data(), grid.shape()}).ok());
    return volume;
  }
  std::string Refusal(const std::string& id, const RefinementRequest& request) {
    const auto refined = Refine(id, request);
    EXPECT_EQ(refined.status().code(), absl::StatusCode::kFailedPrecondition) << refined.status();
    return std::string(refined.status().message());
  }
};

TEST_F(PhaseJobTest, AVolumeIsThatOfItsFramesAlone) {
  for (const auto type :
       {recon::PixelType::kFloat32LineIntegrals, recon::PixelType::kUint16Counts}) {
    const std::string id = AcquireHeart(Heart(type));
    EXPECT_EQ(VolumeOf(id), Batch(Heart(type))) << "the first volume is of all frames";
    EXPECT_EQ(Job(id).facts.phase_cycle, jobs::PhaseCycle::kCardiac);
    const auto accepted = Refine(id, PhaseRecipe(kWindow));
    ASSERT_TRUE(accepted.ok()) << accepted.status();
    const jobs::Job job = AwaitEnd((*accepted)->id);
    ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
    EXPECT_EQ(VolumeOf(job.id), Alone(Heart(type)));
    EXPECT_NE(VolumeOf(job.id), VolumeOf(id));
    EXPECT_EQ(job.refinement.algorithm, "fdk");
    EXPECT_EQ(job.progress.iterations_total, 0);
    ASSERT_TRUE(job.refinement.phase.has_value());
    EXPECT_EQ(job.refinement.phase->phase, 0.5);
    EXPECT_EQ(job.refinement.phase->width, 0.5);
    EXPECT_EQ(job.refinement.phase->frames, 28);  // seven of ten
    // 39 frames in 3.9 s are 3.9 cycles.
    EXPECT_NEAR(job.refinement.phase->cycle_seconds, 1, 1e-6);
    EXPECT_NEAR(job.refinement.phase->largest_gap_deg, 3 * 9, 0.1);
    ASSERT_EQ(job.warnings.size(), 1u);
    EXPECT_THAT(job.result.warnings, ElementsAre(job.warnings[0].text));
    EXPECT_EQ(job.warnings[0].kind, jobs::WarningKind::kPhaseGap);
    EXPECT_THAT(job.warnings[0].text,
                AllOf(HasSubstr("phase 0.5: 28 of 40 frames"), HasSubstr("27.0 degrees")));
    EXPECT_THAT(job.refinement.findings, ElementsAre(HasSubstr("28 of 40 frames")));
  }
  ExpectNothingHeld();
}

TEST_F(PhaseJobTest, PhasesSurviveAKillInTheMiddleOfTheScan) {
  const Live live = Begin(Heart());
  live.console->phase = PhaseOf;
  ASSERT_TRUE(live.console->Send(0, 20).ok());
  AwaitSpooled(live.id, 20);
  Restart();
  // Who does not tell what the scan's frames told goes on with another scan.
  const auto silent = Resume(live.id);
  const absl::Status refused = silent->SendOne(20);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("frame.phase of frame 20 is not told"),
                    HasSubstr("that of frame 0 is 0;"), HasSubstr("of all frames")));
  const auto console = Resume(live.id);
  console->phase = PhaseOf;
  ASSERT_TRUE(console->Send(20, kFrames).ok());
  ASSERT_TRUE(console->Finish().ok());
  ASSERT_EQ(AwaitEnd(live.id).state, JobState::kCompleted);
  EXPECT_EQ(Job(live.id).facts.phase_cycle, jobs::PhaseCycle::kCardiac);
  const auto accepted = Refine(live.id, PhaseRecipe(kWindow));
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  ASSERT_EQ(AwaitEnd((*accepted)->id).state, JobState::kCompleted);
  EXPECT_EQ(VolumeOf((*accepted)->id), Alone());
}

TEST_F(PhaseJobTest, IterationsOfAPhaseBeginAgainAfterARestart) {
  const std::string id = AcquireHeart();
  const RefinementRequest recipe = PhaseRecipe(kWindow, 15);
  const std::string once = (*Refine(id, recipe))->id;
  ASSERT_EQ(AwaitEnd(once).state, JobState::kCompleted) << Job(once).error;
  EXPECT_EQ(Job(once).refinement.iterations.size(), 15u);
  const std::string again = (*Refine(id, recipe))->id;
  AwaitRefining(again);
  Restart();
  const jobs::Job job = AwaitEnd(again);
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(job.refinement.phase->width, 0.5);
  EXPECT_EQ(VolumeOf(again), VolumeOf(once));
  EXPECT_NE(VolumeOf(again), Alone());
}

TEST_F(PhaseJobTest, WhatCannotBeMadeIsRefusedBeforeItIsAJob) {
  const std::string still = Acquire();
  EXPECT_FALSE(Job(still).facts.phase_cycle.has_value());
  EXPECT_THAT(Refusal(still, PhaseRecipe(kWindow)),
              AllOf(HasSubstr(still), HasSubstr("0 of 40 frames tell a phase")));
  const std::string id = AcquireHeart();
  EXPECT_THAT(Refusal(id, PhaseRecipe({.centre = 0.5, .width = 0.1})),
              AllOf(HasSubstr("holds 4 of 40 frames"), HasSubstr("8 or more")));
  // One of five: that of phase 0.25 would be made, and another one could not.
  RefinementRequest one_of = PhaseRecipe({.centre = 0.25, .width = 0.15});
  EXPECT_TRUE(Refine(id, one_of).ok());
  one_of.of_phases = 5;
  EXPECT_THAT(Refusal(id, one_of), HasSubstr("around phase 0 holds 4 of 40 frames"));
  EXPECT_EQ(service_->table->List({}, std::nullopt, 100).size(), 3u);
}

TEST_F(PhaseJobTest, ALostFrameIsInNoPhase) {
  AcquisitionRequest request = Heart();
  request.missing_frames = {.longest_gap = 4, .most_missing = 0.5};
  const Live live = Begin(request);
  live.console->phase = PhaseOf;
  ASSERT_TRUE(live.console->Send(0, 15).ok());
  ASSERT_TRUE(live.console->Send(16, kFrames).ok());
  ASSERT_TRUE(live.console->Finish().ok());
  ASSERT_EQ(AwaitEnd(live.id).state, JobState::kCompleted);
  const std::string id = (*Refine(live.id, PhaseRecipe(kWindow)))->id;
  const jobs::Job job = AwaitEnd(id);
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(job.refinement.phase->frames, 27);
}

TEST_F(PhaseJobTest, ARepeatedRequestIsTheSameJobOfTheSamePhaseOnly) {
  const std::string id = AcquireHeart();
  RefinementRequest request = PhaseRecipe(kWindow);
  request.request_id = "once";
  const std::string made = (*Refine(id, request))->id;
  EXPECT_EQ((*Refine(id, request))->id, made);
  RefinementRequest other = PhaseRecipe({.centre = 0, .width = 0.5});
  other.request_id = "once";
  EXPECT_EQ(Refine(id, other).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(PhaseJobTest, AFrameThatTellsNoPhaseAmongOthersFailsTheScan) {
  const Live live = Begin(Heart());
  live.console->phase = [](int view) { return view == 7 ? std::nullopt : PhaseOf(view); };
  const absl::Status refused = live.console->Send(0, kFrames);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("frame.phase of frame 7 is not told"));
}

}  // namespace
}  // namespace isocenter::pipeline
