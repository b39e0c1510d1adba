// Admission, the whole path of a job, and its end.
#include "server/pipeline/engine.h"

#include <algorithm>
#include <cstring>

#include "server/pipeline/facts.h"
#include "tests/server/pipeline/engine_fixture.h"

namespace isocenter::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(60);

// Streaming must leave no trace: both paths execute the same plan.
TEST_F(EngineTest, StreamedVolumeEqualsTheBatchBitForBit) {
  for (const recon::PixelType type :
       {recon::PixelType::kFloat32LineIntegrals, recon::PixelType::kUint16Counts}) {
    const AcquisitionRequest request = SmallRequest(type);
    const Live live = Begin(request);
    ASSERT_TRUE(live.console->Send(0, kFrames).ok());
    ASSERT_TRUE(live.console->Finish().ok());
    ASSERT_EQ(AwaitEnd(live.id).state, JobState::kCompleted);
    const std::vector<float> batch = Batch(request), streamed = VolumeOf(live.id);
    ASSERT_EQ(streamed.size(), batch.size());
    EXPECT_EQ(std::memcmp(streamed.data(), batch.data(), batch.size() * sizeof(float)), 0);
    // Not a comparison of two empty volumes.
    EXPECT_GT(*std::ranges::max_element(batch), *std::ranges::min_element(batch) + 1);
  }
}

TEST_F(EngineTest, ACompletedJobTellsEverything) {
  const auto accepted = Accept(SmallRequest());
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  const std::string id = accepted->job->id();
  EXPECT_NEAR(accepted->predicted_seconds, 32. * 32 * 32 * 40 / 1e9, 1e-12);  // assumed
  EXPECT_GE(accepted->peak_bytes, accepted->job->run()->plan().peak_bytes);
  // The slot has no other memory than the host's.
  EXPECT_EQ(accepted->peak_bytes, service_->slot().memory.used()) << "not what was admitted";
  EXPECT_TRUE(accepted->job->request().frame_rate_hz == 0);
  ASSERT_TRUE((*Console::Attach(accepted->job))->Send(0, kFrames).ok());
  const jobs::Job job = AwaitEnd(id);
  EXPECT_EQ(job.progress.frames_received, 40);
  EXPECT_EQ(job.progress.frames_backprojected, 40);
  EXPECT_EQ(job.progress.frames_lost, 0);
  EXPECT_EQ(job.progress.slices_exported, 32);
  EXPECT_EQ(job.result.series_instance_uid, "1.2.3.4");
  EXPECT_EQ(job.result.instance_count, 32);
  EXPECT_EQ(job.result.backend, "reference");
  EXPECT_THAT(job.result.warnings, ElementsAre());
  EXPECT_GT(job.result.kernel_gups, 0);
  EXPECT_GT(job.result.whole_gups, 0);
  EXPECT_LE(job.result.whole_gups, job.result.kernel_gups);
  EXPECT_GT(job.result.seconds_after_last_frame, 0);
  EXPECT_GE(job.result.seconds_to_stored, job.result.seconds_after_last_frame);
  EXPECT_GE(job.result.timings.total, job.result.timings.acquisition);
  EXPECT_NEAR(job.facts.source_to_isocenter_mm, 750, 1e-6);
  EXPECT_NEAR(job.facts.source_to_detector_mm, 1200, 1e-6);
  EXPECT_NEAR(job.facts.arc_deg, 360, 1e-6);
  EXPECT_EQ(job.facts.filter_description, "ram-lak 1.00");
  EXPECT_EQ(job.facts.trajectory_hash.size(), 64u);
  EXPECT_EQ(job.patient_study.study_date.size(), 8u);
  EXPECT_TRUE(service_->table->TraceOf(id).ok());
  EXPECT_EQ(service_->observer.count("frame"), 40);
  EXPECT_EQ(service_->observer.count("frame spooled"), 40);
  EXPECT_EQ(service_->observer.count("prediction reference0"), 1);
  // The next one is predicted from it.
  const auto next = Accept(SmallRequest());
  ASSERT_TRUE(next.ok());
  EXPECT_NEAR(next->predicted_seconds, 32. * 32 * 32 * 40 / (job.result.whole_gups * 1e9), 1e-9);
}

// The volume is complete before the end of the input is recorded; the order of states must not
// depend on it.
TEST_F(EngineTest, StatesFollowEachOtherHoweverSlowTheDiskIs) {
  Start({.sync = absl::Milliseconds(20)});
  AcquisitionRequest request = SmallRequest();
  request.grid = CenteredGrid(2, 2, 2, {4, 4, 4});
  for (int i = 0; i < 3; ++i) {
    const Live live = Begin(request);
    ASSERT_TRUE(live.console->Send(0, kFrames).ok());
    const jobs::Job job = AwaitEnd(live.id);
    EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
    EXPECT_EQ(job.progress.frames_received, kFrames);
    EXPECT_GT(job.result.timings.backproject, 0);
    // The observer is told a moment after everybody else.
    EXPECT_TRUE(Eventually([&] { return service_->observer.states(live.id).size() == 3; }));
    EXPECT_THAT(service_->observer.states(live.id),
                ElementsAre(JobState::kReconstructing, JobState::kExporting, JobState::kCompleted));
  }
}

TEST_F(EngineTest, ConcurrentJobsDoNotMix) {
  const std::vector<float> alone = Batch();
  const Live a = Begin(), b = Begin();
  for (int view = 0; view < kFrames; view += 5) {
    ASSERT_TRUE(a.console->Send(view, view + 5).ok());
    ASSERT_TRUE(b.console->Send(view, view + 5).ok());
  }
  AwaitEnd(a.id);
  AwaitEnd(b.id);
  EXPECT_EQ(VolumeOf(a.id), alone);
  EXPECT_EQ(VolumeOf(b.id), alone);
}

// Both jobs have all frames, and wait behind a unit that is under way; the live one comes last.
TEST_F(EngineTest, ALiveJobGoesBeforeABatchJob) {
  absl::Notification go;
  const auto lane = service_->slot().lanes.NewLane();
  lane->Submit([&] { go.WaitForNotification(); });
  AcquisitionRequest request = SmallRequest();
  request.job_class = jobs::JobClass::kBatch;
  const Live batch = Begin(request);
  ASSERT_TRUE(batch.console->Send(0, kFrames).ok());
  const Live live = Begin();
  ASSERT_TRUE(live.console->Send(0, kFrames).ok());
  AwaitSpooled(batch.id, kFrames);
  AwaitSpooled(live.id, kFrames);
  EXPECT_TRUE(Eventually([&] { return Job(live.id).state == JobState::kReconstructing; }));
  std::atomic<int> live_done_at_first_chunk{-1};
  const auto watch = service_->table->Subscribe(batch.id, [&] {
    if (Job(batch.id).progress.frames_backprojected == 0 || live_done_at_first_chunk >= 0) return;
    live_done_at_first_chunk = Job(live.id).progress.frames_backprojected;
  });
  ASSERT_TRUE(watch.ok());
  go.Notify();
  AwaitEnd(live.id);
  AwaitEnd(batch.id);
  EXPECT_EQ(live_done_at_first_chunk, kFrames);
}

// ---- Admission ---------------------------------------------------------------------------------

TEST_F(EngineTest, ASpoolWithoutRoomRefusesTheAcquisition) {
  // Room for one job (40 frames of two pages each and the head of the file), not for two.
  Start({.spool_bytes = 500'000});
  Live first = Begin();
  const absl::Status refused = Accept(SmallRequest()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("are used of 488.3 KiB that may be"));
  EXPECT_EQ(service_->scheduler->active_jobs(), 1);
  EXPECT_EQ(service_->observer.count("accepted"), 1);
  ASSERT_TRUE(service_->engine->Cancel(first.id, absl::CancelledError("stop")).ok());
  first.console.reset();
  ExpectNothingHeld();
  EXPECT_TRUE(Accept(SmallRequest()).ok());
}

TEST_F(EngineTest, RefusesWhatDoesNotFitAndNamesIt) {
  AcquisitionRequest request = SmallRequest();
  request.grid = CenteredGrid(512, 512, 512, {1, 1, 1});
  const absl::Status refused = Accept(request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("are free of 64 MiB"));
  ExpectNothingHeld();
}

TEST_F(EngineTest, LimitsTheNumberOfJobs) {
  std::vector<Engine::Accepted> accepted;
  for (int i = 0; i < 8; ++i) accepted.push_back(*Accept(SmallRequest()));
  const absl::Status refused = Accept(SmallRequest()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("0 are free of 8"));
}

TEST_F(EngineTest, AConsoleThatLeftBeforeItsTurnCostsNothing) {
  absl::Notification done;
  absl::Status status;
  service_->engine->Accept(
      SmallRequest(), [] { return false; },
      [&](absl::StatusOr<Engine::Accepted> accepted) {
        status = accepted.status();
        done.Notify();
      });
  done.WaitForNotification();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(service_->observer.count("accepted"), 0);
}

TEST_F(EngineTest, AJobThatCannotBeRecordedIsNotAccepted) {
  service_->store.FailWith(absl::ResourceExhaustedError("disk full"));
  EXPECT_EQ(Accept(SmallRequest()).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(service_->spool->Jobs().empty());
  ExpectNothingHeld();
  EXPECT_TRUE(service_->engine->WaitUntilIdle(absl::Now() + kPatience));
}

TEST_F(EngineTest, TheSameRequestIdIsTheSameJob) {
  AcquisitionRequest request = SmallRequest();
  request.request_id = "once";
  const Live first = Begin(request);
  ASSERT_TRUE(first.console->Send(0, 10).ok());
  AwaitSpooled(first.id, 10);
  const auto again = Accept(request);
  ASSERT_TRUE(again.ok());
  ASSERT_NE(again->job, nullptr);
  EXPECT_EQ(again->snapshot->id, first.id);
  EXPECT_EQ(again->job->input().prefix, 10);
  EXPECT_EQ(service_->observer.count("accepted"), 1);
  const auto console = *Console::Attach(again->job);
  ASSERT_TRUE(console->Send(10, kFrames).ok());
  EXPECT_EQ(AwaitEnd(first.id).state, JobState::kCompleted);
  EXPECT_EQ(VolumeOf(first.id), Batch());
  // Also when it has ended.
  ASSERT_TRUE(Eventually([&] { return Accept(request)->job == nullptr; }));
  request.patient_study.patient_id = "somebody else";
  EXPECT_EQ(Accept(request).status().code(), absl::StatusCode::kInvalidArgument);
}

// ---- End ---------------------------------------------------------------------------------------

TEST_F(EngineTest, CancelsInEachPhase) {
  for (const JobState phase :
       {JobState::kReceiving, JobState::kReconstructing, JobState::kExporting}) {
    SCOPED_TRACE(std::string(jobs::Name(phase)));
    absl::Notification go;
    const auto lane = service_->slot().lanes.NewLane();
    if (phase == JobState::kReconstructing) lane->Submit([&] { go.WaitForNotification(); });
    service_->results.SetGate(phase != JobState::kExporting);
    {
      const Live live = Begin();
      ASSERT_TRUE(live.console->Send(0, phase == JobState::kReceiving ? 20 : kFrames).ok());
      if (phase == JobState::kExporting) service_->results.WaitUntilStoring();
      ASSERT_TRUE(Eventually([&] { return Job(live.id).state == phase; }));
      ASSERT_TRUE(service_->engine->Cancel(live.id, absl::CancelledError("stop")).ok());
      if (phase == JobState::kExporting) {  // the first one counts
        ASSERT_TRUE(service_->engine->Cancel(live.id, absl::CancelledError("once more")).ok());
      }
      if (!go.HasBeenNotified()) go.Notify();
      service_->results.SetGate(true);
      const jobs::Job job = AwaitEnd(live.id);
      EXPECT_EQ(job.state, JobState::kCancelled);
      EXPECT_EQ(std::string(job.error.message()), "stop");
      EXPECT_EQ(service_->results.stores(live.id), 0);
      EXPECT_EQ(live.console->SendOne(39).code(), absl::StatusCode::kCancelled);
      ASSERT_TRUE(Eventually([&] { return service_->scheduler->active_jobs() == 0; }));
      EXPECT_EQ(service_->engine->Cancel(live.id, absl::CancelledError("stop")).code(),
                absl::StatusCode::kFailedPrecondition);
    }
    ExpectNothingHeld();
  }
  EXPECT_EQ(service_->engine->Cancel("nobody", absl::CancelledError("stop")).code(),
            absl::StatusCode::kNotFound);
}

TEST_F(EngineTest, AStoreThatFailsFailsTheJobWithItsReason) {
  service_->results.FailWith(absl::InternalError("the disk is broken"));
  const Live live = Begin();
  ASSERT_TRUE(live.console->Send(0, kFrames).ok());
  const jobs::Job job = AwaitEnd(live.id);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.error.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(service_->engine->promised_disk_bytes(), 0);
}

TEST_F(EngineTest, ManyJobsLeaveNothingBehind) {
  AcquisitionRequest request = SmallRequest();
  request.grid = CenteredGrid(8, 8, 8, {4, 4, 4});
  for (int i = 0; i < 200; ++i) {
    const Live live = Begin(request);
    const int frames = i % 4 == 0 ? kFrames : i % kFrames;
    ASSERT_TRUE(live.console->Send(0, frames).ok());
    if (i % 4 == 1)
      service_->engine->Resume({.job_id = live.id})->job->Fail(absl::InternalError("broken"));
    if (i % 4 == 2) (void)live.console->Finish();
    if (i % 4 == 3) (void)service_->engine->Cancel(live.id, absl::CancelledError("stop"));
    AwaitEnd(live.id);
    ASSERT_TRUE(Eventually([&] { return service_->scheduler->active_jobs() < 8; }));
  }
  ExpectNothingHeld();
  EXPECT_EQ(service_->observer.count("ended"), 200);
  EXPECT_TRUE(service_->engine->WaitUntilIdle(absl::Now() + kPatience));
  EXPECT_EQ(service_->slot().backlog.Ahead(jobs::JobClass::kBatch), 0);
}

TEST_F(EngineTest, DrainsWhatWasAcceptedAndAdmitsNothing) {
  const Live live = Begin();
  ASSERT_TRUE(live.console->Send(0, 10).ok());
  service_->engine->StopAdmitting();
  EXPECT_EQ(Accept(SmallRequest()).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(service_->engine->WaitUntilIdle(absl::Now()));
  ASSERT_TRUE(live.console->Send(10, kFrames).ok());
  EXPECT_TRUE(service_->engine->WaitUntilIdle(absl::Now() + kPatience));
  EXPECT_EQ(Job(live.id).state, JobState::kCompleted);
}

TEST_F(EngineTest, ADrainDoesNotWaitForConsolesThatHaveGone) {
  const Live live = Begin();
  ASSERT_TRUE(live.console->Send(0, 10).ok());
  live.console->Detach();
  service_->engine->StopAdmitting();
  EXPECT_TRUE(service_->engine->WaitUntilIdle(absl::Now() + kPatience));
  EXPECT_EQ(Job(live.id).state, JobState::kReceiving);
}

TEST_F(EngineTest, EndingTheEngineSuspendsItsJobs) {
  const Live receiving = Begin();
  ASSERT_TRUE(receiving.console->Send(0, 10).ok());
  const auto nobody = Accept(SmallRequest());
  ASSERT_TRUE(nobody.ok());
  service_->engine.reset();
  EXPECT_EQ(Job(receiving.id).state, JobState::kReceiving);
  EXPECT_EQ(service_->store.jobs()[receiving.id].state, JobState::kReceiving);
  EXPECT_EQ(service_->spool->Jobs().size(), 2u);
  EXPECT_EQ(receiving.console->refusal().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(service_->slot().memory.used(), 0);
  EXPECT_EQ(service_->scheduler->active_jobs(), 0);
}

// Published check: SHA-256 of 96 zero bytes (one all-zero matrix), by sha256sum.
TEST(TrajectoryHash, IsTheSha256OfTheMatrices) {
  EXPECT_EQ(TrajectoryHash({ProjectionMatrix{}}),
            "2ea9ab9198d1638007400cd2c3bef1cc745b864b76011a0e1bc52180ac6452d4");
}

}  // namespace
}  // namespace isocenter::pipeline
