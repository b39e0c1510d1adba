#include "server/replicas/takeover.h"

#include "tests/server/pipeline/engine_fixture.h"
#include "tests/server/replicas/replica_fixture.h"

namespace isocenter::replicas {
namespace {

using isocenter::testing::Console;
using isocenter::testing::Eventually;
using isocenter::testing::SmallFrame;
using isocenter::testing::SmallRequest;
using pipeline::kFrames;

constexpr char kJob[] = "20260101T120000-0123abcd";

class TakeoverTest : public pipeline::EngineTest {
 protected:
  void SetUp() override {
    isocenter::testing::PipelineOptions options;
    options.engine.reconnect_limit = absl::Milliseconds(500);
    options.engine.has_other_nodes = true;
    options.engine.handed_back_to = [this](const std::string& id) {
      return id == kJob ? back_ : std::nullopt;
    };
    EngineTest::Start(std::move(options));
    store_ = *ReplicaStore::Open({.spool = {.directory = directory_.path() / "replicas"},
                                  .take_over = absl::ZeroDuration()});
  }
  void TearDown() override { takeover_.reset(); }

  /// The copy of a job with frames `first` to `last`.
  void Keep(int first, int last, bool finished, const std::string& record = "kept",
            int frames = kFrames) {
    records_[record] = request_;
    records_[record].record = record;
    const auto writer = store_->Begin({.origin = kFirst,
                                       .job_id = kJob,
                                       .begun_by = "token room1",
                                       .acquisition = record,
                                       .frames = frames,
                                       .frame_bytes = FrameBytes(request_.acquisition)});
    ASSERT_TRUE(writer.ok()) << writer.status();
    for (int view = first; view <= last; ++view) {
      auto pixels = std::make_shared<std::string>(SmallFrame(request_.acquisition, view));
      ASSERT_TRUE(spool::AppendNow(
                      (*writer)->frames(),
                      {.index = view,
                       .pixels = {std::as_bytes(std::span(*pixels))},
                       .phase = tells_phases_ ? std::optional(0.025F * static_cast<float>(view))
                                              : std::nullopt,
                       .memory = pixels})
                      .ok());
    }
    if (!finished) return;
    ASSERT_TRUE((*writer)->frames().Finish().ok());
  }
  void TakeOver() {
    takeover_ = std::make_unique<Takeover>(
        *store_, *service_->engine,
        TakeoverOptions{.decode =
                            [this](const std::string& record) {
                              return absl::StatusOr<pipeline::AcquisitionRequest>(
                                  records_.at(record));
                            },
                        .on_taken_over = [this] { ++taken_over_; },
                        .look = absl::Milliseconds(10),
                        .again = absl::Milliseconds(50)});
  }
  bool HasJob() { return service_->table->Get(kJob).ok(); }
  bool IsGone() { return store_->usage().copies == 0; }

  isocenter::testing::TemporaryDirectory directory_;
  pipeline::AcquisitionRequest request_ = SmallRequest();
  bool tells_phases_ = false;        // of the frames of copies
  std::optional<std::string> back_;  // the node that has the job again
  std::unique_ptr<ReplicaStore> store_;
  std::atomic<int> taken_over_ = 0;
  std::atomic<int> seconds_ahead_ = 0;  // of a store's clock
  std::unique_ptr<Takeover> takeover_;
};

TEST_F(TakeoverTest, ACopyOfAnotherNumberOfFramesIsNotRead) {
  Keep(kFrames - 1, kFrames + 1, true, "kept", kFrames + 2);
  TakeOver();
  ASSERT_TRUE(Eventually([&] { return HasJob(); }));
  // Nothing of it is sent, and the job ends as one whose console does not come back.
  const jobs::Job job = AwaitEnd(kJob);
  EXPECT_EQ(job.state, jobs::JobState::kFailed);
  EXPECT_EQ(job.progress.frames_received, 0);
}

TEST_F(TakeoverTest, AllFramesMakeTheVolumeUnderTheJobsId) {
  Keep(0, kFrames - 1, true);
  TakeOver();
  ASSERT_TRUE(Eventually([&] { return HasJob(); }));
  const jobs::Job job = AwaitEnd(kJob);
  EXPECT_EQ(job.state, jobs::JobState::kCompleted) << job.error;
  EXPECT_EQ(job.begun_by, "token room1");
  EXPECT_EQ(VolumeOf(kJob), Batch());
  EXPECT_TRUE(Eventually([&] { return IsGone(); }));
  EXPECT_EQ(taken_over_, 1);
}

TEST_F(TakeoverTest, PhasesGoAlong) {
  request_.phase_cycle = jobs::PhaseCycle::kRespiratory;
  tells_phases_ = true;
  Keep(0, 9, false);
  TakeOver();
  ASSERT_TRUE(Eventually([&] { return HasJob(); }));
  AwaitSpooled(kJob, 10);
  ASSERT_TRUE(Eventually([&] { return IsGone(); }));
  const auto accepted = service_->engine->Resume({.job_id = kJob, .caller = "token room1"});
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_EQ(accepted->job->spool()->phases()[9], 0.025F * 9);
  EXPECT_FALSE(accepted->job->spool()->phases()[10].has_value());
  const auto console = *Console::Attach(accepted->job);
  EXPECT_EQ(console->SendOne(10).code(), absl::StatusCode::kInvalidArgument);  // tells none
  console->phase = [](int view) { return 0.025F * static_cast<float>(view); };
  ASSERT_TRUE(console->Send(10, kFrames).ok());
  ASSERT_TRUE(console->Finish().ok());
  EXPECT_EQ(AwaitEnd(kJob).state, jobs::JobState::kCompleted);
  EXPECT_EQ(Job(kJob).facts.phase_cycle, jobs::PhaseCycle::kRespiratory);
}

TEST_F(TakeoverTest, AllFramesNeedNoEnd) {
  Keep(0, kFrames - 1, false);
  TakeOver();
  ASSERT_TRUE(Eventually([&] { return HasJob(); }));
  EXPECT_EQ(AwaitEnd(kJob).state, jobs::JobState::kCompleted);
}

TEST_F(TakeoverTest, SomeFramesWaitForTheirConsoleAndMakeNoVolumeWithoutIt) {
  Keep(0, kFrames - 2, false);  // few enough that a scan may lack them
  TakeOver();
  ASSERT_TRUE(Eventually([&] { return HasJob(); }));
  const jobs::Job job = AwaitEnd(kJob);
  EXPECT_EQ(job.state, jobs::JobState::kFailed);
  EXPECT_EQ(job.progress.frames_received, kFrames - 1);
  EXPECT_TRUE(Eventually([&] { return IsGone(); }));
}

TEST_F(TakeoverTest, SomeFramesOfAJobThatItsNodeHasAgainAreNoFailure) {
  back_ = "recon1";
  Keep(0, 9, false);
  TakeOver();
  ASSERT_TRUE(Eventually([&] { return HasJob(); }));
  const jobs::Job job = AwaitEnd(kJob);
  EXPECT_EQ(job.state, jobs::JobState::kCancelled);
  EXPECT_EQ(job.error, absl::AbortedError(absl::StrCat(
                           "handed back: node recon1, from which this one took the job over, lives "
                           "and has it again; here it had 10 of ",
                           kFrames, " frames, of which nothing is made")));
  EXPECT_TRUE(Eventually([&] { return IsGone(); }));
}

TEST_F(TakeoverTest, AScanGoesOnHere) {
  Keep(0, 9, false);
  TakeOver();
  ASSERT_TRUE(Eventually([&] { return HasJob(); }));
  AwaitSpooled(kJob, 10);
  ASSERT_TRUE(Eventually([&] { return IsGone(); }));
  const auto accepted = service_->engine->Resume({.job_id = kJob, .caller = "token room1"});
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  const auto console = *Console::Attach(accepted->job);
  ASSERT_TRUE(console->Send(10, kFrames).ok());
  ASSERT_TRUE(console->Finish().ok());
  EXPECT_EQ(AwaitEnd(kJob).state, jobs::JobState::kCompleted);
  EXPECT_EQ(VolumeOf(kJob), Batch());
}

TEST_F(TakeoverTest, AJobThatHasEndedHereIsNotMadeAgain) {
  pipeline::AcquisitionRequest brought = request_;
  brought.continues_job_id = kJob;
  brought.caller = "token room1";
  const auto live = Begin(brought);
  ASSERT_EQ(live.id, kJob);
  ASSERT_TRUE(service_->engine->Cancel(kJob, absl::CancelledError("an operator")).ok());
  AwaitEnd(kJob);
  Keep(0, kFrames - 1, true);
  TakeOver();
  EXPECT_TRUE(Eventually([&] { return IsGone(); }));
  EXPECT_EQ(Job(kJob).state, jobs::JobState::kCancelled);
  EXPECT_EQ(taken_over_, 0);
}

TEST_F(TakeoverTest, AConsoleThatIsHereKeepsItsJob) {
  pipeline::AcquisitionRequest brought = request_;
  brought.continues_job_id = kJob;
  brought.caller = "token room1";
  const auto live = Begin(brought);
  Keep(0, kFrames - 1, true);
  TakeOver();
  ASSERT_TRUE(live.console->Send(0, 1).ok());
  AwaitSpooled(kJob, 1);
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_EQ(Job(kJob).progress.frames_received, 1);
  ASSERT_TRUE(live.console->Send(1, kFrames).ok());
  ASSERT_TRUE(live.console->Finish().ok());
  EXPECT_EQ(AwaitEnd(kJob).state, jobs::JobState::kCompleted);
  EXPECT_TRUE(Eventually([&] { return IsGone(); }));
  EXPECT_EQ(taken_over_, 0);
}

TEST_F(TakeoverTest, TheSameRequestUnderAnotherIdIsNotMadeTwice) {
  request_.request_id = "scan-1";
  pipeline::AcquisitionRequest brought = request_;
  brought.caller = "token room1";
  const auto live = Begin(brought);
  Keep(0, kFrames - 1, true);
  TakeOver();
  EXPECT_TRUE(Eventually([&] { return IsGone(); }));
  EXPECT_FALSE(HasJob());
}

TEST_F(TakeoverTest, WhatWouldBeCorrectedOtherwiseIsKeptAndNotTakenOver) {
  request_.calibration = jobs::UsedCalibration{.name = "room1-may", .crc32c = 1};
  Keep(0, kFrames - 1, true);
  TakeOver();
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_FALSE(HasJob());
  EXPECT_FALSE(IsGone());
}

TEST_F(TakeoverTest, WhatHadNoCalibrationIsNotSaidToHaveAskedForNone) {
  request_.calibration_policy = jobs::CalibrationPolicy::kWarn;
  request_.calibration_name = "room1-may";
  Keep(0, kFrames - 1, true);
  TakeOver();
  ASSERT_TRUE(Eventually([&] { return HasJob(); }));
  const jobs::Job job = AwaitEnd(kJob);
  EXPECT_EQ(job.state, jobs::JobState::kCompleted) << job.error;
  EXPECT_FALSE(job.facts.calibration);
  ASSERT_FALSE(job.warnings.empty());
  EXPECT_EQ(job.warnings.front().kind, jobs::WarningKind::kCalibration);
  EXPECT_EQ(job.warnings.front().text,
            "the frames are not corrected: the node that began the job had no calibration that "
            "fits");
}

TEST_F(TakeoverTest, AJobIsTakenOverByHandBeforeItsTime) {
  store_ = *ReplicaStore::Open(
      {.spool = {.directory = directory_.path() / "others"},
       .take_over = absl::Hours(1),
       .clock = [this] { return SteadyNow() + absl::Seconds(seconds_ahead_.load()); }});
  Keep(0, kFrames - 1, true);
  TakeOver();
  absl::SleepFor(absl::Milliseconds(100));
  EXPECT_FALSE(HasJob());
  seconds_ahead_ = 4;
  ASSERT_TRUE(store_->Want(kJob).ok());
  ASSERT_TRUE(Eventually([&] { return HasJob(); }));
  EXPECT_EQ(AwaitEnd(kJob).state, jobs::JobState::kCompleted);
  EXPECT_TRUE(Eventually([&] { return IsGone(); }));
}

TEST_F(TakeoverTest, ADrainedNodeTakesOverWhenItMayAgain) {
  service_->engine->SetDrained("upgrade");
  Keep(0, kFrames - 1, true);
  TakeOver();
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_FALSE(HasJob());
  EXPECT_FALSE(IsGone());
  service_->engine->SetDrained(std::nullopt);
  ASSERT_TRUE(Eventually([&] { return HasJob(); }));
  EXPECT_EQ(AwaitEnd(kJob).state, jobs::JobState::kCompleted);
}

}  // namespace
}  // namespace isocenter::replicas
