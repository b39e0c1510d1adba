// Jobs whose frames are corrected: with which set, also after a restart and for refinements.
#include <optional>

#include "tests/server/fakes/fake_calibrations.h"
#include "tests/server/pipeline/refinement_fixture.h"

namespace isocenter::pipeline {
namespace {

using isocenter::testing::FakeCalibrations;
using jobs::CalibrationPolicy;
using ::testing::HasSubstr;

/// A response that is not flat, so that its use shows.
ops::Calibration Response(const Detector& detector, float air) {
  ops::Calibration calibration;
  calibration.response.emplace();
  const int pixels = detector.rows * detector.columns;
  for (int i = 0; i < pixels; ++i) {
    calibration.response->offset_counts.push_back(10 + static_cast<float>(i % 3));
    calibration.response->air_counts.push_back(air + static_cast<float>(i % 500));
  }
  return calibration;
}

class EngineCalibrationTest : public RefinementTest {
 protected:
  void SetUp() override {
    PipelineOptions options{.retention = absl::Hours(1)};
    options.calibrations = &calibrations_;
    Start(std::move(options));
  }
  void TearDown() override { service_.reset(); }

  static AcquisitionRequest Request(CalibrationPolicy policy = CalibrationPolicy::kRequire) {
    AcquisitionRequest request = SmallRequest(recon::PixelType::kUint16Counts);
    request.station_name = "room1";
    request.calibration_policy = policy;
    return request;
  }
  ops::Calibration Keep(const std::string& name, float air, absl::Duration age,
                        std::optional<absl::Time> verified = std::nullopt) {
    const Detector& detector = Request().acquisition.detector;
    calibrations_.Add({.name = name,
                       .station_name = "room1",
                       .detector = detector,
                       .valid_from = absl::Now() - absl::Hours(24),
                       .valid_until = absl::Now() + absl::Hours(24),
                       .created = absl::Now() - age,
                       .verified = verified,
                       .crc32c = static_cast<uint32_t>(air),
                       .bytes = 8 * detector.rows * detector.columns},
                      Response(detector, air));
    ops::Calibration kept = Response(detector, air);
    kept.name = name;
    kept.detector = detector;
    return kept;
  }
  /// The volume that a set gives, at once.
  static std::vector<float> BatchWith(const ops::Calibration& calibration) {
    AcquisitionRequest request = Request();
    request.acquisition.calibration = std::make_shared<const ops::Calibration>(calibration);
    return Batch(request);
  }

  FakeCalibrations calibrations_;
};

TEST_F(EngineCalibrationTest, ItIsUsedAndRecorded) {
  Keep("old", 50000, absl::Hours(2));
  const ops::Calibration newest = Keep("new", 60000, absl::Hours(1));
  const std::string id = Acquire(Request());
  EXPECT_EQ(VolumeOf(id), BatchWith(newest));
  EXPECT_NE(VolumeOf(id), Batch(Request()));
  const jobs::Job job = Job(id);
  ASSERT_TRUE(job.facts.calibration);
  EXPECT_EQ(job.facts.calibration->name, "new");
  EXPECT_EQ(job.facts.calibration->crc32c, 60000u);
  EXPECT_FALSE(job.facts.calibration->outside_validity);
  // Of the detector alone.
  ASSERT_EQ(job.warnings.size(), 1);
  EXPECT_THAT(job.warnings[0].text, ::testing::HasSubstr("'new' has no water polynomial"));
  EXPECT_EQ(calibrations_.loads(), 1);
  ExpectNothingHeld();
}

// What frames show is judged by the set that corrects them: here of a panel with another gain in a
// column.
TEST_F(EngineCalibrationTest, AColumnThatTheSetDoesNotKnowIsToldOf) {
  const Detector& detector = Request().acquisition.detector;
  ops::Calibration other = Response(detector, 60000);
  for (int v = 0; v < detector.rows; ++v) {
    other.response->air_counts[v * detector.columns + 12] /= 2;
  }
  calibrations_.Add({.name = "other",
                     .station_name = "room1",
                     .detector = detector,
                     .valid_from = absl::Now() - absl::Hours(24),
                     .valid_until = absl::Now() + absl::Hours(24),
                     .created = absl::Now(),
                     .crc32c = 7,
                     .bytes = 8 * detector.rows * detector.columns},
                    other);
  const jobs::Job job = Job(Acquire(Request()));
  ASSERT_EQ(job.warnings.size(), 2u);
  EXPECT_EQ(job.warnings[1].kind, jobs::WarningKind::kUnknownDefects);
  EXPECT_THAT(job.warnings[1].text, HasSubstr("(column,row: 12,"));
}

TEST_F(EngineCalibrationTest, RefusedBeforeTheExposureWhereOneIsRequired) {
  const auto refused = Accept(Request());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("no calibration of station"));
  ExpectNothingHeld();
  EXPECT_TRUE(service_->spool->Jobs().empty());
}

TEST_F(EngineCalibrationTest, RefusedBeforeTheExposureWhereItIsNotVerified) {
  const AcquisitionRequest request = Request(CalibrationPolicy::kRequireVerified);
  Keep("plain", 60000, absl::Hours(2));
  const auto refused = Accept(request);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("has not been verified"));
  ExpectNothingHeld();
  const ops::Calibration verified = Keep("verified", 50000, absl::Hours(1), absl::Now());
  const std::string id = Acquire(request);
  EXPECT_EQ(VolumeOf(id), BatchWith(verified));
  EXPECT_TRUE(Job(id).facts.calibration->verified);
}

TEST_F(EngineCalibrationTest, WarnedOfWhereThatIsEnough) {
  const std::string id = Acquire(Request(CalibrationPolicy::kWarn));
  EXPECT_EQ(VolumeOf(id), Batch(Request()));
  const jobs::Job job = Job(id);
  EXPECT_FALSE(job.facts.calibration);
  ASSERT_EQ(job.warnings.size(), 1u);
  EXPECT_EQ(job.warnings[0].kind, jobs::WarningKind::kCalibration);
}

TEST_F(EngineCalibrationTest, AfterARestartAndForRefinementsItIsTheSame) {
  const ops::Calibration used = Keep("used", 55000, absl::Hours(2));
  const Live live = Begin(Request());
  ASSERT_TRUE(live.console->Send(0, 20).ok());
  AwaitSpooled(live.id, 20);
  // Neither of these would choose it again.
  Keep("newer", 60000, absl::Hours(1));
  calibrations_.Withdraw("used");
  Restart();
  const auto console = Resume(live.id);
  ASSERT_TRUE(console->Send(20, kFrames).ok());
  ASSERT_TRUE(console->Finish().ok());
  EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCompleted);
  EXPECT_EQ(VolumeOf(live.id), BatchWith(used));

  const auto refined = Refine(live.id, Recipe(2));
  ASSERT_TRUE(refined.ok()) << refined.status();
  const std::string id = (*refined)->id;
  EXPECT_EQ(AwaitEnd(id).state, JobState::kCompleted) << Job(id).error;
  EXPECT_EQ(Job(id).facts.calibration->name, "used");
  const std::vector<float> of_used = VolumeOf(id);
  // The same refinement of frames that were corrected with another set.
  const auto other = Refine(Acquire(Request()), Recipe(2));
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(AwaitEnd((*other)->id).state, JobState::kCompleted);
  EXPECT_EQ(Job((*other)->id).facts.calibration->name, "newer");
  EXPECT_NE(VolumeOf((*other)->id), of_used);
}

TEST_F(EngineCalibrationTest, AJobWhoseSetIsGoneFailsWithTheReason) {
  Keep("used", 55000, absl::Hours(2));
  const Live live = Begin(Request());
  ASSERT_TRUE(live.console->Send(0, 20).ok());
  AwaitSpooled(live.id, 20);
  calibrations_.Remove("used");
  Restart();
  const jobs::Job job = AwaitEnd(live.id);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(std::string(job.error.message()), HasSubstr("the calibration 'used' is not there"));
}

TEST_F(EngineCalibrationTest, ADamagedOneGivesWayToTheNext) {
  const ops::Calibration sound = Keep("sound", 50000, absl::Hours(2));
  Keep("damaged", 60000, absl::Hours(1));
  calibrations_.Damage("damaged");
  const std::string id = Acquire(Request());
  EXPECT_EQ(Job(id).facts.calibration->name, "sound");
  EXPECT_EQ(VolumeOf(id), BatchWith(sound));
}

TEST_F(EngineCalibrationTest, ItsMemoryIsAskedFor) {
  PipelineOptions options;
  options.calibrations = &calibrations_;
  Start(std::move(options));
  Keep("large", 60000, absl::Hours(1));
  jobs::CalibrationLabel label = calibrations_.Labels()[0];
  label.bytes = int64_t{1} << 40;
  calibrations_.Add(label, Response(label.detector, 60000));
  EXPECT_EQ(Accept(Request()).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(calibrations_.loads(), 0);
  ExpectNothingHeld();
}

TEST_F(EngineCalibrationTest, ARepeatedHeaderNamesTheSameOne) {
  Keep("a", 50000, absl::Hours(2));
  AcquisitionRequest request = Request();
  request.request_id = "r1";
  request.calibration_name = "a";
  const auto accepted = Accept(request);
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  calibrations_.Withdraw("a");
  EXPECT_TRUE(Accept(request).ok());
  request.calibration_name = "b";
  EXPECT_THAT(std::string(Accept(request).status().message()),
              HasSubstr("calibration is 'b', the job's is 'a'"));
}

TEST_F(EngineCalibrationTest, DosesReachTheCorrections) {
  const ops::Calibration kept = Keep("a", 60000, absl::Hours(1));
  const Live live = Begin(Request());
  live.console->dose = 0.5F;
  ASSERT_TRUE(live.console->Send(0, kFrames).ok());
  ASSERT_TRUE(live.console->Finish().ok());
  EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCompleted);
  EXPECT_NE(VolumeOf(live.id), BatchWith(kept));
}

}  // namespace
}  // namespace isocenter::pipeline
