// Second passes as jobs: the same bits as at once, whatever interrupts them, and what they lack.
#include "kernels/ops/calibration_scope.h"
#include "server/pipeline/refinement_record.h"
#include "tests/server/fakes/fake_calibrations.h"
#include "tests/server/pipeline/refinement_fixture.h"

namespace isocenter::pipeline {
namespace {

using isocenter::testing::FakeCalibrations;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const recon::SecondPassSettings kMetal{.metal = recon::MetalSettings()};
const recon::SecondPassSettings kBone{.bone = true};
const recon::SecondPassSettings kMotion{.motion = true};
const recon::SecondPassSettings kSelfCalibrate{.self_calibrate = true};
const recon::SecondPassSettings kCompleteRows{.complete_rows = true};

class SecondPassJobTest : public RefinementTest {
 protected:
  void SetUp() override { Begin({.retention = absl::Hours(1)}); }
  void TearDown() override { service_.reset(); }
  void Begin(PipelineOptions options) {
    options.calibrations = &calibrations_;
    Start(std::move(options));
  }
  using RefinementTest::Begin;

  std::string Accepted(const std::string& source, const RefinementRequest& recipe) {
    const auto accepted = Refine(source, recipe);
    EXPECT_TRUE(accepted.ok()) << accepted.status();
    return accepted.ok() ? (*accepted)->id : "";
  }
  static AcquisitionRequest Counts() {
    AcquisitionRequest request = SmallRequest(recon::PixelType::kUint16Counts);
    request.station_name = "room1";
    request.calibration_policy = jobs::CalibrationPolicy::kRequire;
    return request;
  }
  /// Keeps a set for Counts, with a bone table or without; what the acquisition is with it.
  AcquisitionRequest Keep(const std::string& name, bool has_bone, absl::Duration age) {
    AcquisitionRequest request = Counts();
    const Detector& detector = request.acquisition.detector;
    ops::Calibration set;
    set.water.coefficient = {1};
    if (has_bone) {
      set.bone = ops::BoneTable{.line_integrals = 2,
                                .bones = 2,
                                .most_line_integral = 8,
                                .most_bone_mm = 100,
                                .added = {0, 0, 0.2, 0.4},
                                .from_hu = 500,
                                .full_hu = 3000};
    }
    calibrations_.Add({.name = name,
                       .station_name = "room1",
                       .detector = detector,
                       .valid_from = absl::Now() - absl::Hours(24),
                       .valid_until = absl::Now() + absl::Hours(24),
                       .created = absl::Now() - age,
                       .has_bone = has_bone,
                       .crc32c = has_bone ? 1U : 2U,
                       .bytes = 1000},
                      set);
    set.name = name;
    set.detector = detector;
    request.acquisition.calibration = std::make_shared<const ops::Calibration>(set);
    return request;
  }

  FakeCalibrations calibrations_;
};

TEST_F(SecondPassJobTest, MetalIsTakenOutAsOnFiles) {
  const std::string id = Acquire();
  const RefinementRequest recipe = SecondPassRecipe(kMetal);
  const jobs::Job job = AwaitEnd(Accepted(id, recipe));
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(VolumeOf(job.id), RefinedBatch(recipe));
  AcquisitionRequest once = SmallRequest();
  once.settings = recipe.fdk;
  EXPECT_NE(VolumeOf(job.id), Batch(once)) << "no metal was found";

  EXPECT_THAT(job.source_job_ids, ElementsAre(id));
  EXPECT_EQ(job.refinement.algorithm, "second_pass_metal");
  EXPECT_EQ(job.refinement.projector, "joseph");
  ASSERT_TRUE(jobs::IsSecondPass(job));
  EXPECT_TRUE(job.refinement.second_pass->metal);
  EXPECT_FALSE(job.refinement.second_pass->bone);
  EXPECT_TRUE(job.refinement.iterations.empty());
  EXPECT_EQ(job.progress.iterations_total, 0);
  EXPECT_EQ(job.progress.refined_fraction, 1);
  EXPECT_GT(job.result.timings.refine, 0);
  EXPECT_TRUE(job.warnings.empty());
  EXPECT_TRUE(Eventually([&] { return service_->observer.states(job.id).size() == 3; }));
  EXPECT_THAT(service_->observer.states(job.id),
              ElementsAre(JobState::kRefining, JobState::kExporting, JobState::kCompleted));
  const auto trace = service_->table->TraceOf(job.id);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(*trace, HasSubstr("second pass against metal"));
  ExpectNothingHeld();
}

TEST_F(SecondPassJobTest, TheConeBeamArtefactIsTakenOffAsOnFiles) {
  const std::string id = Acquire();
  const RefinementRequest recipe = SecondPassRecipe({.cone_beam = true});
  const jobs::Job job = AwaitEnd(Accepted(id, recipe));
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(VolumeOf(job.id), RefinedBatch(recipe));
  AcquisitionRequest once = SmallRequest();
  once.settings = recipe.fdk;
  EXPECT_NE(VolumeOf(job.id), Batch(once)) << "no artefact was found";
  EXPECT_EQ(job.refinement.algorithm, "second_pass_cone_beam");
  EXPECT_TRUE(job.refinement.second_pass->cone_beam);
  EXPECT_FALSE(job.refinement.second_pass->metal);
  ExpectNothingHeld();
}

TEST_F(SecondPassJobTest, WhereNothingMovesItIsTheFirstVolume) {
  const std::string id = Acquire();
  const RefinementRequest recipe = SecondPassRecipe(kMotion);
  const std::string refined = Accepted(id, recipe);
  Restart();  // it begins again
  const jobs::Job job = AwaitEnd(refined);
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  AcquisitionRequest once = SmallRequest();
  once.settings = recipe.fdk;
  EXPECT_EQ(VolumeOf(refined), Batch(once));
  EXPECT_EQ(job.refinement.algorithm, "second_pass_motion");
  EXPECT_TRUE(job.refinement.second_pass->motion);
  ASSERT_TRUE(job.refinement.motion.has_value());
  EXPECT_FALSE(job.refinement.motion->found);
  EXPECT_EQ(job.refinement.motion->largest_shift_mm, 0);
  EXPECT_TRUE(job.refinement.motion->poses.empty());
  EXPECT_THAT(job.refinement.findings, ElementsAre(HasSubstr("motion: none found")));
  EXPECT_EQ(service_->results.stores(refined), 1);
  ExpectNothingHeld();
}

TEST_F(SecondPassJobTest, ASearchForMotionIsCancelled) {
  const std::string id = Acquire();
  const std::string searching = Accepted(id, SecondPassRecipe(kMotion));
  ASSERT_TRUE(Eventually([&] { return Job(searching).state == JobState::kRefining; }));
  const absl::Time begin = absl::Now();
  EXPECT_TRUE(service_->engine->Cancel(searching, absl::CancelledError("enough")).ok());
  EXPECT_EQ(AwaitEnd(searching).state, JobState::kCancelled);
  // The search ends with the step that it is in, and what it held is free.
  ExpectNothingHeld();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  EXPECT_TRUE(VolumeOf(searching).empty());
}

// The slot works for a scan while the host searches.
TEST_F(SecondPassJobTest, ALiveScanBesideASearchForMotion) {
  const std::string id = Acquire();
  const std::string searching = Accepted(id, SecondPassRecipe(kMotion));
  ASSERT_TRUE(Eventually([&] { return Job(searching).state == JobState::kRefining; }));
  EXPECT_EQ(VolumeOf(Acquire()), Batch());
  EXPECT_EQ(AwaitEnd(searching).state, JobState::kCompleted);
}

TEST_F(SecondPassJobTest, MotionOfTooFewFramesIsRefused) {
  const RefinementRequest recipe = SecondPassRecipe(kMotion);
  EXPECT_TRUE(CheckFrameCount("j", recipe, 32).ok());
  const absl::Status status = CheckFrameCount("j", recipe, 31);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "job 'j': a motion cannot be told from 31 frames; legal is 32 or more");
  EXPECT_TRUE(CheckFrameCount("j", SecondPassRecipe(kMetal), 31).ok());
}

// None of these frames' rows is cut; e2e/reconstruct_test has some that are.
TEST_F(SecondPassJobTest, RowsThatNothingCutsAreTheFirstVolumes) {
  const std::string id = Acquire();
  const RefinementRequest recipe = SecondPassRecipe(kCompleteRows);
  const std::string completed = Accepted(id, recipe);
  Restart();  // it begins again
  const jobs::Job job = AwaitEnd(completed);
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(VolumeOf(completed), RefinedBatch(recipe));
  EXPECT_EQ(job.refinement.algorithm, "second_pass_complete_rows");
  EXPECT_TRUE(job.refinement.second_pass->complete_rows);
  EXPECT_THAT(job.refinement.findings, ElementsAre(HasSubstr("nothing was completed")));
  EXPECT_EQ(service_->results.stores(completed), 1);
  ExpectNothingHeld();
}

TEST_F(SecondPassJobTest, CompletedRowsAreNotWarnedOfAsCut) {
  jobs::Job source = Job(Acquire());
  source.warnings = {{jobs::WarningKind::kCutObject, 3, "cut"},
                     {jobs::WarningKind::kDoseDip, 4, "dip"}};
  const auto kinds = [&](const recon::SecondPassSettings& settings) {
    std::vector<jobs::WarningKind> all;
    for (const auto& warning :
         RefinementRecord("r", source, {}, SecondPassRecipe(settings), absl::Now()).warnings) {
      all.push_back(warning.kind);
    }
    return all;
  };
  EXPECT_THAT(kinds(kCompleteRows), ElementsAre(jobs::WarningKind::kDoseDip));
  EXPECT_THAT(kinds(kMetal),
              ElementsAre(jobs::WarningKind::kCutObject, jobs::WarningKind::kDoseDip));
}

// Frames without structure along the axis tell nothing, or that all is true.
TEST_F(SecondPassJobTest, ADetectorThatIsInItsPlaceLeavesTheFirstVolume) {
  const std::string id = Acquire();
  const RefinementRequest recipe = SecondPassRecipe(kSelfCalibrate);
  const std::string refined = Accepted(id, recipe);
  Restart();  // it begins again
  const jobs::Job job = AwaitEnd(refined);
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(VolumeOf(refined), RefinedBatch(recipe));
  EXPECT_EQ(job.refinement.algorithm, "second_pass_self_calibrate");
  EXPECT_TRUE(job.refinement.second_pass->self_calibrate);
  ASSERT_TRUE(job.refinement.self_calibration.has_value());
  EXPECT_GT(job.refinement.self_calibration->entropy_before, 0);
  EXPECT_EQ(job.refinement.self_calibration->moves.empty(),
            !job.refinement.self_calibration->found);
  EXPECT_THAT(job.refinement.findings, ElementsAre(HasSubstr("self-calibration: ")));
  EXPECT_FALSE(job.refinement.motion.has_value());
  EXPECT_EQ(service_->results.stores(refined), 1);
  ExpectNothingHeld();
}

TEST_F(SecondPassJobTest, ASearchForTheDetectorIsCancelled) {
  const std::string id = Acquire();
  const std::string searching = Accepted(id, SecondPassRecipe(kSelfCalibrate));
  ASSERT_TRUE(Eventually([&] { return Job(searching).state == JobState::kRefining; }));
  const absl::Time begin = absl::Now();
  EXPECT_TRUE(service_->engine->Cancel(searching, absl::CancelledError("enough")).ok());
  EXPECT_EQ(AwaitEnd(searching).state, JobState::kCancelled);
  ExpectNothingHeld();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  EXPECT_TRUE(VolumeOf(searching).empty());
}

TEST_F(SecondPassJobTest, ADetectorOfTooFewFramesIsRefused) {
  const RefinementRequest recipe = SecondPassRecipe(kSelfCalibrate);
  EXPECT_TRUE(CheckFrameCount("j", recipe, 32).ok());
  const absl::Status status = CheckFrameCount("j", recipe, 31);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "job 'j': the detector's place cannot be told from 31 frames; legal is 32 or more");
}

TEST_F(SecondPassJobTest, FollowsTheVolumeAndSurvivesRestarts) {
  AcquisitionRequest request = SmallRequest();
  request.refinement = SecondPassRecipe(kMetal);
  const std::string id = Acquire(request), refined = id + "-ref";
  for (int restarts = 0; restarts < 3; ++restarts) Restart();
  const jobs::Job job = AwaitEnd(refined);
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(VolumeOf(refined), RefinedBatch(*request.refinement));
  EXPECT_EQ(service_->results.stores(refined), 1);
  ExpectNothingHeld();
}

TEST_F(SecondPassJobTest, BoneIsCorrectedWithTheTableOfTheJobsCalibration) {
  const AcquisitionRequest with = Keep("with", true, absl::Hours(2));
  const std::string id = Acquire(Counts());
  // A newer one is not what the frames were corrected with.
  Keep("without", false, absl::Hours(1));
  Restart();
  const RefinementRequest recipe = SecondPassRecipe(kBone);
  const jobs::Job job = AwaitEnd(Accepted(id, recipe));
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(job.refinement.algorithm, "second_pass_bone");
  EXPECT_EQ(VolumeOf(job.id), RefinedBatch(recipe, with));
  AcquisitionRequest once = with;
  once.settings = recipe.fdk;
  EXPECT_NE(VolumeOf(job.id), Batch(once)) << "no bone was found";
}

TEST_F(SecondPassJobTest, BoneWithoutATableIsRefused) {
  const auto refused = [this](const std::string& id) {
    const absl::Status status = Refine(id, SecondPassRecipe(kBone)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    return std::string(status.message());
  };
  const std::string lines = Acquire();
  EXPECT_THAT(refused(lines),
              HasSubstr("'" + lines +
                        "' was acquired without a calibration; legal "
                        "for this second pass is one whose calibration has a bone"));
  Keep("plain", false, absl::Hours(1));
  EXPECT_THAT(refused(Acquire(Counts())),
              HasSubstr("the calibration 'plain', which has no bone table; legal"));
  ExpectNothingHeld();
}

TEST_F(SecondPassJobTest, ScatterWithoutAModelIsRefused) {
  const RefinementRequest recipe = SecondPassRecipe({.scatter = true});
  const std::string lines = Acquire();
  EXPECT_THAT(std::string(Refine(lines, recipe).status().message()),
              HasSubstr("legal for this second pass is one whose calibration has a scatter model"));
  Keep("with", true, absl::Hours(1));
  const absl::Status refused = Refine(Acquire(Counts()), recipe).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("the calibration 'with', which has no scatter model; legal"));
  AcquisitionRequest request = Counts();
  request.refinement = recipe;
  EXPECT_THAT(std::string(Accept(request).status().message()),
              HasSubstr("refines with a scatter model, and the calibration 'with' has none"));
  ExpectNothingHeld();
}

// The first volume has the scatter that the table's had, this one has not.
TEST_F(SecondPassJobTest, ATableOfAVolumeWithItsScatterIsToldOf) {
  AcquisitionRequest request = Counts();
  ops::Calibration set;
  set.water.coefficient = {1};
  set.mu_water_per_mm = 0.02;
  set.scatter_model = ops::ScatterModel{.scale = 1};
  set.hounsfield = {.points = {{-990, -1000}, {0, 0}}};
  set.hounsfield.made_with = ops::HounsfieldParts(set);
  calibrations_.Add({.name = "table",
                     .station_name = "room1",
                     .detector = request.acquisition.detector,
                     .valid_from = absl::Now() - absl::Hours(24),
                     .valid_until = absl::Now() + absl::Hours(24),
                     .created = absl::Now() - absl::Hours(1),
                     .has_bone = true,
                     .has_scatter_model = true,
                     .crc32c = 3,
                     .bytes = 1000},
                    set);
  const auto calibration_warnings = [](const jobs::Job& job) {
    std::vector<std::string> texts;
    for (const jobs::JobWarning& warning : job.warnings) {
      if (warning.kind == jobs::WarningKind::kCalibration) texts.push_back(warning.text);
    }
    return texts;
  };
  const std::string id = Acquire(request);
  EXPECT_THAT(calibration_warnings(Job(id)), ElementsAre());

  const auto metal = Refine(id, SecondPassRecipe(kMetal));
  ASSERT_TRUE(metal.ok()) << metal.status();
  EXPECT_THAT(calibration_warnings(**metal), ElementsAre()) << "has its scatter, too";
  AwaitEnd((*metal)->id);

  const auto scatter = Refine(id, SecondPassRecipe({.scatter = true}));
  ASSERT_TRUE(scatter.ok()) << scatter.status();
  EXPECT_THAT(calibration_warnings(**scatter),
              ElementsAre(HasSubstr("the HU table of calibration 'table' was measured with other "
                                    "corrections than are applied now: scatter was not corrected "
                                    "then")));
  EXPECT_THAT((*scatter)->result.warnings, ElementsAre((*scatter)->warnings.back().text));
  // What it computes is others' to test, and takes a minute.
  EXPECT_TRUE(service_->engine->Cancel((*scatter)->id, absl::CancelledError("enough")).ok());
  EXPECT_EQ(AwaitEnd((*scatter)->id).state, JobState::kCancelled);
  EXPECT_THAT(calibration_warnings(Job(id)), ElementsAre()) << "of its own volume it is right";
  ExpectNothingHeld();
}

TEST_F(SecondPassJobTest, AProtocolForBoneSaysBeforeTheExposureWhatIsMissing) {
  Keep("plain", false, absl::Hours(1));
  AcquisitionRequest request = Counts();
  request.refinement = SecondPassRecipe(kBone);
  const absl::Status refused = Accept(request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("protocol 'fdk' refines with a bone table, and the calibration 'plain' has "
                        "none; legal is one that has"));
  request.calibration_policy = jobs::CalibrationPolicy::kWarn;
  const std::string id = Acquire(request);
  const jobs::Job job = Job(id);
  ASSERT_EQ(job.warnings.size(), 1u);
  EXPECT_EQ(job.warnings[0].kind, jobs::WarningKind::kCalibration);
  EXPECT_THAT(job.warnings[0].text, HasSubstr("there will be no refinement"));
  ExpectNothingHeld();
  EXPECT_FALSE(service_->table->Get(id + "-ref").ok());
}

TEST_F(SecondPassJobTest, AtItsDeadlineThereIsNothingBetter) {
  Begin({.retention = absl::Hours(1), .engine = {.clock = clock_.function()}});
  const std::string id = Acquire();
  ExpectNothingHeld();
  RefinementRequest recipe = SecondPassRecipe(kMetal);
  recipe.deadline = absl::Hours(1);
  // Its first unit finds the slot's thread busy until then.
  absl::Notification passed;
  const auto lane = service_->slot().lanes.NewLane();
  lane->Submit([&passed] { passed.WaitForNotification(); });
  const std::string late = Accepted(id, recipe);
  AwaitPlacesSought();
  clock_.Advance(recipe.deadline);
  passed.Notify();
  const jobs::Job job = AwaitEnd(late);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.error.code(), absl::StatusCode::kDeadlineExceeded) << job.error;
  EXPECT_THAT(std::string(job.error.message()),
              HasSubstr("before there was a better volume; that of job '" + id + "' stands"));
  ExpectNothingHeld();
}

TEST_F(SecondPassJobTest, IsCancelled) {
  const std::string id = Acquire();
  service_->results.SetGate(false);
  const std::string storing = Accepted(id, SecondPassRecipe(kMetal));
  service_->results.WaitUntilStoring();
  EXPECT_TRUE(service_->engine->Cancel(storing, absl::CancelledError("enough")).ok());
  service_->results.SetGate(true);
  EXPECT_EQ(AwaitEnd(storing).state, JobState::kCancelled);
  EXPECT_TRUE(service_->results.volume(storing).empty());
  ExpectNothingHeld();
}

TEST_F(SecondPassJobTest, ItsMemoryIsCountedAndPromised) {
  const std::string id = Acquire();
  ExpectNothingHeld();
  const RefinementRequest recipe = SecondPassRecipe(kMetal);
  const AcquisitionRequest request = SmallRequest();
  const ops::Device* const devices[] = {service_->devices[0].get()};
  const auto plan =
      recon::PlanRefinement(request.acquisition, std::get<VolumeGrid>(request.grid), recipe.fdk,
                            recipe.settings, Backends(), devices, recon::Arrival::kStreamed);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const recon::RefinementBasis& basis = recon::BasisOf(*plan);
  // A byte too few for it, and enough for the acquisition.
  const int64_t needed = basis.peak_bytes + basis.host_bytes;
  for (const bool enough : {true, false}) {
    service_->options.memory_bytes = enough ? needed : needed - 1;
    service_->Restart();
    const jobs::Job job = AwaitEnd(Accepted(id, recipe));
    EXPECT_EQ(job.state, enough ? JobState::kCompleted : JobState::kFailed) << job.error;
    if (enough) continue;
    EXPECT_EQ(job.error.code(), absl::StatusCode::kResourceExhausted) << job.error;
  }
}

TEST_F(SecondPassJobTest, ARepeatedRequestIsOneOfTheSameKind) {
  const std::string id = Acquire();
  RefinementRequest recipe = SecondPassRecipe(kMetal);
  recipe.request_id = "once";
  const std::string first = Accepted(id, recipe);
  EXPECT_EQ(Accepted(id, recipe), first);
  RefinementRequest other = Recipe(1);
  other.request_id = "once";
  EXPECT_EQ(Refine(id, other).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AwaitEnd(first).state, JobState::kCompleted);
}

TEST_F(SecondPassJobTest, WhereTooMuchIsMetalItSaysSo) {
  const std::string id = Acquire();
  RefinementRequest recipe = SecondPassRecipe(kMetal);
  recipe.fdk.mu_water_per_mm = 0.003;  // HU three times as high
  const jobs::Job job = AwaitEnd(Accepted(id, recipe));
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.error.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(job.error.message()), HasSubstr("voxels have 2500 HU or more"));
  ExpectNothingHeld();
}

}  // namespace
}  // namespace isocenter::pipeline
