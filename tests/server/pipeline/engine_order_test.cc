// Acquisitions and the worklist: what is asked when, and what never waits for it.
#include "tests/server/fakes/fake_worklist.h"
#include "tests/server/pipeline/engine_fixture.h"

namespace isocenter::pipeline {
namespace {

using isocenter::testing::FakeWorklist;
using isocenter::testing::YamadaStep;
using jobs::WarningKind;
using ::testing::Contains;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class EngineOrderTest : public EngineTest {
 protected:
  void SetUp() override { StartWith(absl::Seconds(60)); }
  void TearDown() override { service_.reset(); }  // it uses the worklist
  void StartWith(absl::Duration timeout) {
    PipelineOptions options;
    options.worklist = &worklist_;
    options.engine.worklist_timeout = timeout;
    Start(std::move(options));
  }
  static AcquisitionRequest WithAccession() {
    AcquisitionRequest request = SmallRequest();
    request.patient_study.accession_number = "A1";
    return request;
  }
  jobs::Job Run(const AcquisitionRequest& request) {
    const Live live = Begin(request);
    EXPECT_TRUE(live.console->Send(0, kFrames).ok());
    return AwaitEnd(live.id);
  }

  FakeWorklist worklist_;
};

TEST_F(EngineOrderTest, TheResultHasTheIdentityOfTheWorklist) {
  worklist_.SetSteps({YamadaStep()});
  const jobs::Job job = Run(WithAccession());
  EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(job.patient_study.patient_id, "P1");
  EXPECT_EQ(job.order.scheduled_step_id, "SPS1");
  EXPECT_EQ(service_->results.job(job.id).patient_study.patient_id, "P1");
  EXPECT_THAT(job.warnings, IsEmpty());
  EXPECT_EQ(service_->observer.began(job.id).patient_study.patient_id, "P1");
}

TEST_F(EngineOrderTest, NothingIsAskedWithoutAKey) {
  EXPECT_EQ(Run(SmallRequest()).state, JobState::kCompleted);
  EXPECT_THAT(worklist_.queries(), IsEmpty());
}

TEST_F(EngineOrderTest, FramesDoNotWaitAndTheResultDoes) {
  worklist_.SetSteps({YamadaStep()});
  worklist_.SetGate(false);
  const Live live = Begin(WithAccession());
  ASSERT_TRUE(live.console->Send(0, kFrames).ok());
  AwaitSpooled(live.id, kFrames);
  ASSERT_TRUE(Eventually([&] { return Job(live.id).state == JobState::kExporting; }));
  EXPECT_EQ(service_->observer.count("began"), 0);
  EXPECT_EQ(service_->results.stores(live.id), 0);
  worklist_.SetGate(true);
  const jobs::Job job = AwaitEnd(live.id);
  EXPECT_EQ(job.state, JobState::kCompleted);
  EXPECT_EQ(job.patient_study.patient_id, "P1");
  EXPECT_TRUE(Eventually([&] { return service_->observer.count("began") == 1; }));
}

TEST_F(EngineOrderTest, ASlowWorklistIsNotWaitedForAndItsAnswerComesTooLate) {
  StartWith(absl::Milliseconds(50));
  worklist_.SetSteps({YamadaStep()});
  worklist_.SetGate(false);
  const jobs::Job job = Run(WithAccession());
  EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_THAT(job.warnings,
              Contains(Field(&jobs::JobWarning::kind, WarningKind::kWorklistUnavailable)));
  EXPECT_EQ(job.patient_study.patient_id, "");
  worklist_.SetGate(true);
  EXPECT_EQ(Job(job.id).patient_study.patient_id, "");
  EXPECT_TRUE(Eventually([&] { return service_->observer.count("began") == 1; }));
}

TEST_F(EngineOrderTest, AWorklistThatIsDownCostsAWarning) {
  worklist_.SetAnswer(absl::UnavailableError("cannot associate with RIS"));
  const jobs::Job job = Run(WithAccession());
  EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_THAT(job.warnings,
              Contains(Field(&jobs::JobWarning::kind, WarningKind::kWorklistUnavailable)));
  EXPECT_EQ(job.patient_study.accession_number, "A1");
}

TEST_F(EngineOrderTest, AJobThatWaitsForItsOrderIsCancelledAtOnce) {
  worklist_.SetGate(false);
  {
    const Live live = Begin(WithAccession());
    ASSERT_TRUE(live.console->Send(0, kFrames).ok());
    ASSERT_TRUE(Eventually([&] { return Job(live.id).state == JobState::kExporting; }));
    ASSERT_TRUE(service_->engine->Cancel(live.id, absl::CancelledError("enough")).ok());
    EXPECT_EQ(Job(live.id).state, JobState::kCancelled);
    worklist_.SetGate(true);
  }
  ExpectNothingHeld();
}

TEST_F(EngineOrderTest, AnAnswerSurvivesARestartAndIsAskedForOnce) {
  worklist_.SetSteps({YamadaStep()});
  const Live live = Begin(WithAccession());
  ASSERT_TRUE(live.console->Send(0, 10).ok());
  AwaitSpooled(live.id, 10);
  ASSERT_TRUE(Eventually([&] { return service_->observer.count("began") == 1; }));
  Restart();
  EXPECT_EQ(Job(live.id).patient_study.patient_id, "P1");
  EXPECT_TRUE(Eventually([&] { return service_->observer.count("began") == 2; }));
  ASSERT_TRUE(Resume(live.id)->Send(10, kFrames).ok());
  EXPECT_EQ(AwaitEnd(live.id).patient_study.patient_id, "P1");
  EXPECT_THAT(worklist_.queries(), SizeIs(1));
}

TEST_F(EngineOrderTest, AQuestionThatAStopInterruptsIsAskedAgain) {
  worklist_.SetSteps({YamadaStep()});
  worklist_.SetGate(false);
  const Live live = Begin(WithAccession());
  ASSERT_TRUE(live.console->Send(0, kFrames).ok());
  ASSERT_TRUE(Eventually([&] { return Job(live.id).state == JobState::kExporting; }));
  service_->Stop();
  worklist_.SetGate(true);
  service_->Start();
  service_->engine->Recover();
  const jobs::Job job = AwaitEnd(live.id);
  EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(job.patient_study.patient_id, "P1");
  EXPECT_THAT(worklist_.queries(), SizeIs(2));
}

TEST_F(EngineOrderTest, TheSameHeaderGoesOnWithItsJobAfterTheAnswer) {
  worklist_.SetSteps({YamadaStep()});
  AcquisitionRequest request = WithAccession();
  request.request_id = "again";
  const Live live = Begin(request);
  ASSERT_TRUE(Eventually([&] { return Job(live.id).order.settled; }));
  const auto again = Accept(request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->snapshot->id, live.id);
}

TEST_F(EngineOrderTest, BothHalvesOfAPairHaveOneOrder) {
  worklist_.SetSteps({YamadaStep()});
  AcquisitionRequest mask = WithAccession(), fill = WithAccession();
  mask.pair_id = fill.pair_id = "pair";
  mask.pair_role = jobs::PairRole::kMask;
  fill.pair_role = jobs::PairRole::kFill;
  const jobs::Job first = Run(mask);
  worklist_.SetAnswer(absl::UnavailableError("down"));
  const jobs::Job second = Run(fill);
  EXPECT_EQ(second.state, JobState::kCompleted) << second.error;
  EXPECT_EQ(second.patient_study.study_instance_uid, first.patient_study.study_instance_uid);
  EXPECT_EQ(second.patient_study.patient_id, "P1");
  EXPECT_EQ(second.order.scheduled_step_id, "SPS1");
  EXPECT_THAT(worklist_.queries(), SizeIs(1));
}

}  // namespace
}  // namespace isocenter::pipeline
