// What a job survives: the end of the process, and of its device.
#include <algorithm>
#include <atomic>
#include <thread>

#include "kernels/ops/device_lost.h"
#include "tests/server/pipeline/engine_fixture.h"

namespace isocenter::pipeline {
namespace {

using jobs::WarningKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

using EngineRecoveryTest = EngineTest;

bool HasWarning(const jobs::Job& job, WarningKind kind) {
  return std::ranges::any_of(job.warnings, [&](const auto& each) { return each.kind == kind; });
}

// ---- The process ends --------------------------------------------------------------------------

TEST_F(EngineRecoveryTest, ReceivingGoesOnAfterARestart) {
  const std::string id = [&] {
    const Live live = Begin();
    EXPECT_TRUE(live.console->Send(0, 20).ok());
    EXPECT_TRUE(live.console->Send(22, 25).ok());
    AwaitSpooled(live.id, 23);
    return live.id;
  }();
  constexpr absl::Duration kBefore = absl::Milliseconds(200);
  absl::SleepFor(kBefore);
  Restart();
  const auto accepted = *service_->engine->Resume({.job_id = id});
  EXPECT_EQ(accepted.job->input().prefix, 20);
  EXPECT_THAT(accepted.job->input().beyond, ElementsAre(FrameRange{22, 24}));
  EXPECT_EQ(Job(id).progress.frames_received, 23);
  const auto console = *Console::Attach(accepted.job);
  ASSERT_TRUE(console->Send(20, kFrames).ok());
  const jobs::Job job = AwaitEnd(id);
  EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(job.result.backend, "reference");
  EXPECT_GE(job.result.timings.total, absl::ToDoubleSeconds(kBefore));  // from its acceptance on
  EXPECT_EQ(VolumeOf(id), Batch());
  EXPECT_EQ(service_->observer.count("resumed restart"), 1);
}

TEST_F(EngineRecoveryTest, GapsThatWereDeclaredBeforeStayGaps) {
  Start({.engine = {.steady_clock = clock_.function()}});
  const std::string undisturbed = [&] {
    const Live live = Begin();
    EXPECT_TRUE(live.console->Send(0, 5).ok());
    EXPECT_TRUE(live.console->Send(6, kFrames).ok());
    EXPECT_TRUE(live.console->Finish().ok());
    AwaitEnd(live.id);
    return live.id;
  }();

  const std::string id = [&] {
    const Live live = Begin();
    EXPECT_TRUE(live.console->Send(0, 5).ok());
    EXPECT_TRUE(live.console->SendOne(6).ok());
    clock_.Advance(FrameLedger::kHold);
    EXPECT_TRUE(live.console->Send(7, 30).ok());
    EXPECT_TRUE(Eventually([&] { return Job(live.id).progress.frames_lost == 1; }));
    AwaitSpooled(live.id, 29);
    return live.id;
  }();
  Restart();
  const auto console = Resume(id);
  EXPECT_EQ(Job(id).progress.frames_lost, 1);
  ASSERT_TRUE(console->SendOne(5).ok());  // too late
  ASSERT_TRUE(console->Send(30, kFrames).ok());
  const jobs::Job job = AwaitEnd(id);
  EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(job.progress.frames_lost, 1);
  EXPECT_EQ(VolumeOf(id), VolumeOf(undisturbed));
  EXPECT_TRUE(HasWarning(job, WarningKind::kFrameGap)) << "the result does not say it";
  EXPECT_FALSE(job.result.warnings.empty());
}

TEST_F(EngineRecoveryTest, AVolumeThatWasBeingStoredIsComputedAgain) {
  service_->results.SetGate(false);
  std::string id;
  {
    const Live live = Begin();
    id = live.id;
    ASSERT_TRUE(live.console->Send(0, kFrames).ok());
    service_->results.WaitUntilStoring();
    service_->engine->SuspendAll();
    service_->results.SetGate(true);
  }
  Restart();
  EXPECT_EQ(service_->results.stores(id), 0);
  EXPECT_EQ(AwaitEnd(id).state, JobState::kCompleted) << Job(id).error;
  EXPECT_EQ(VolumeOf(id), Batch());
  EXPECT_EQ(service_->results.stores(id), 1);
  ExpectNothingHeld();
}

TEST_F(EngineRecoveryTest, AVolumeThatWaitsForItsDeviceIsComputedAfterARestart) {
  std::string id;
  {
    absl::Notification go;
    service_->slot().lanes.NewLane()->Submit([&] { go.WaitForNotification(); });
    const Live live = Begin();
    id = live.id;
    ASSERT_TRUE(live.console->Send(0, kFrames).ok());
    ASSERT_TRUE(Eventually([&] { return Job(id).state == JobState::kReconstructing; }));
    service_->engine->SuspendAll();
    go.Notify();
  }
  Restart();
  EXPECT_EQ(AwaitEnd(id).state, JobState::kCompleted) << Job(id).error;
  EXPECT_EQ(VolumeOf(id), Batch());
}

// The crash came between the store and the record of the job.
TEST_F(EngineRecoveryTest, AStoredSeriesIsNotStoredTwice) {
  std::string id;
  {
    const Live live = Begin();
    id = live.id;
    ASSERT_TRUE(live.console->Send(0, kFrames / 2).ok());
    const std::vector<float> volume(32 * 32 * 32);
    ASSERT_TRUE(service_->results
                    .Store(Job(id), HostView3<const float>(volume.data(), {32, 32, 32}), nullptr,
                           [](int) { return true; })
                    .ok());
  }
  Restart();
  const jobs::Job job = Job(id);
  EXPECT_EQ(job.state, JobState::kCompleted);
  EXPECT_EQ(job.result.series_instance_uid, "1.2.3.4");
  EXPECT_EQ(job.progress.slices_exported, 32);
  EXPECT_EQ(service_->results.stores(id), 1);
  const auto accepted = service_->engine->Resume({.job_id = id});
  ASSERT_TRUE(accepted.ok());
  EXPECT_EQ(accepted->job, nullptr);
  EXPECT_EQ(service_->observer.count("completed"), 1);
  ExpectNothingHeld();
}

TEST_F(EngineRecoveryTest, ADamagedRecordKeepsItsFramesAndStopsNobody) {
  const std::string damaged = Begin().id, other = Begin().id;
  service_->store.Damage(damaged);
  Restart();
  EXPECT_THAT(service_->spool->Jobs(), UnorderedElementsAre(damaged, other));
  ASSERT_TRUE(Resume(other)->Send(0, kFrames).ok());
  EXPECT_EQ(AwaitEnd(other).state, JobState::kCompleted);
}

TEST_F(EngineRecoveryTest, AFileWithoutAJobIsRemoved) {
  ASSERT_TRUE(service_->spool->Create("orphan", "record", 4, 100, 0).ok());
  Restart();
  EXPECT_TRUE(service_->spool->Jobs().empty());
}

TEST_F(EngineRecoveryTest, AJobThatCannotBeReadFailsWithTheReason) {
  const std::string id = Begin().id;
  records_.clear();
  Restart();
  EXPECT_EQ(Job(id).state, JobState::kFailed);
  EXPECT_EQ(Job(id).error, absl::DataLossError("unknown record"));
  ExpectNothingHeld();
}

TEST_F(EngineRecoveryTest, AConsoleThatDoesNotComeBackAfterARestartIsGivenUp) {
  Start({.engine = {.reconnect_limit = absl::Milliseconds(500)}});
  const std::string id = Begin().id;
  Restart();
  EXPECT_EQ(AwaitEnd(id).error.code(), absl::StatusCode::kDeadlineExceeded);
}

// The spool calls back after the engine has gone, unless jobs wait for it.
TEST_F(EngineRecoveryTest, TheServiceStopsWhileFramesAreBeingWritten) {
  Start({.sync = absl::Milliseconds(30)});
  std::string id;
  {
    const Live live = Begin();
    id = live.id;
    ASSERT_TRUE(live.console->Send(0, 2).ok());
  }
  Restart();
  EXPECT_EQ(Job(id).state, JobState::kReceiving);
  EXPECT_EQ((*service_->engine->Resume({.job_id = id})).job->input().prefix, 2);
}

TEST_F(EngineRecoveryTest, TheServiceStopsWhileAJobIsBeingAccepted) {
  service_->store.SetGate(false);
  std::atomic<bool> accepted{false};
  AcquisitionRequest request = SmallRequest();
  request.record = "0";
  records_["0"] = request;
  service_->engine->Accept(
      request, [] { return true; },
      [&](const absl::StatusOr<Engine::Accepted>& result) { accepted = result.ok(); });
  service_->store.WaitUntilSaving();
  std::thread stop([&] { service_->engine.reset(); });
  absl::SleepFor(absl::Milliseconds(50));
  service_->store.SetGate(true);
  stop.join();
  // Who was told that it was accepted finds it again.
  ASSERT_TRUE(accepted);
  Restart();
  ASSERT_EQ(service_->store.jobs().size(), 1u);
  EXPECT_TRUE(service_->engine->Resume({.job_id = service_->store.jobs().begin()->first}).ok());
}

// ---- The device is lost ------------------------------------------------------------------------

TEST_F(EngineRecoveryTest, AnotherDeviceTakesOver) {
  std::atomic<int> none_left{0};
  Start({.slots = 2,
         .engine = {.fault = DeviceFault{.slot = "reference0", .chunks = 2},
                    .no_device_left = [&] { ++none_left; }}});
  const Live live = Begin();
  const Live other = Begin();  // on the other slot, or not; it is not touched
  ASSERT_TRUE(live.console->Send(0, kFrames).ok());
  ASSERT_TRUE(other.console->Send(0, kFrames).ok());
  const jobs::Job job = AwaitEnd(live.id);
  EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(AwaitEnd(other.id).state, JobState::kCompleted);
  EXPECT_EQ(VolumeOf(live.id), Batch());
  EXPECT_EQ(VolumeOf(other.id), Batch());
  EXPECT_TRUE(HasWarning(job, WarningKind::kDeviceReplaced));
  EXPECT_EQ(service_->observer.count("lost reference0"), 1);
  EXPECT_EQ(service_->observer.count("resumed device"), 1);
  EXPECT_FALSE(service_->slot(0).healthy());
  EXPECT_TRUE(service_->slot(1).healthy());
  EXPECT_EQ(none_left, 0);
  EXPECT_TRUE(Eventually([&] { return service_->HoldsNoPlace(); }));
}

// The failure of one GPU can make all others of the process useless, which shows when they are
// asked for the next run.
TEST_F(EngineRecoveryTest, ADeviceThatIsFoundLostWhenARunIsMadeDoesNotFailTheJob) {
  ops::Registry registry;
  std::atomic<int> lost{0};
  registry.preprocess.Add(
      "reference", "lost",
      [&](ops::Session& session) -> absl::StatusOr<std::unique_ptr<ops::Preprocess>> {
        if (lost > 0 && lost-- > 0) return ops::DeviceLostError("planted");
        return (*Backends().preprocess.Find("reference"))(session);
      });
  registry.ramp_filter = Backends().ramp_filter;
  registry.backproject = Backends().backproject;
  registry.to_hounsfield = Backends().to_hounsfield;
  std::atomic<int> none_left{0};
  Start({.slots = 3,
         .engine = {.fault = DeviceFault{.slot = "reference0", .chunks = 1},
                    .no_device_left = [&] { ++none_left; }},
         .registry = &registry});
  const Live live = Begin();
  lost = 1;
  ASSERT_TRUE(live.console->Send(0, kFrames).ok());
  const jobs::Job job = AwaitEnd(live.id);
  EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(VolumeOf(live.id), Batch());
  EXPECT_EQ(service_->scheduler->healthy_slots(), 1);
  EXPECT_EQ(none_left, 0);

  // And the last one: the console is told to come again.
  lost = 1;
  EXPECT_EQ(Accept(SmallRequest()).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(none_left, 1);
}

TEST_F(EngineRecoveryTest, WithoutADeviceTheJobWaitsForTheNextStart) {
  std::atomic<int> none_left{0};
  Start({.engine = {.fault = DeviceFault{.slot = "reference0", .chunks = 1},
                    .no_device_left = [&] { ++none_left; }}});
  std::string id;
  {
    const Live live = Begin();
    id = live.id;
    ASSERT_TRUE(live.console->Send(0, 30).ok());
    ASSERT_TRUE(Eventually([&] { return none_left == 1; }));
    // The arm still turns.
    ASSERT_TRUE(live.console->Send(30, kFrames).ok());
    AwaitSpooled(id, kFrames);
    EXPECT_FALSE(jobs::HasEnded(Job(id).state));
    EXPECT_EQ(Accept(SmallRequest()).status().code(), absl::StatusCode::kUnavailable);
    EXPECT_TRUE(Eventually([&] { return service_->slot().memory.used() == 0; }));
  }
  service_->options.engine.fault.reset();
  Restart();
  EXPECT_EQ(none_left, 1);
  EXPECT_EQ(AwaitEnd(id).state, JobState::kCompleted) << Job(id).error;
  EXPECT_EQ(VolumeOf(id), Batch());
}

// A job that was cancelled while its volume was on its way to the exporter ends, though the volume
// never comes.
TEST_F(EngineRecoveryTest, ACancelledJobEndsWhenItsDeviceIsLost) {
  const auto chunks = [&] {
    const auto accepted = Accept(SmallRequest());
    const int count = static_cast<int>(accepted->job->run()->plan().chunks.size());
    (void)service_->engine->Cancel(accepted->snapshot->id, absl::CancelledError("only asked"));
    return count;
  }();
  Start({.engine = {.fault = DeviceFault{.slot = "reference0", .chunks = 2 * chunks}}});
  absl::Notification go;
  const Live blocks = Begin();
  // Its volume is complete, and the thread that completes volumes is held in telling so.
  const auto watch = service_->table->Subscribe(blocks.id, [&] {
    if (Job(blocks.id).state == JobState::kExporting) go.WaitForNotification();
  });
  service_->results.SetGate(false);
  const Live cancelled = Begin(), loses = Begin();
  ASSERT_TRUE(blocks.console->Send(0, kFrames).ok());
  ASSERT_TRUE(Eventually([&] { return Job(blocks.id).state == JobState::kExporting; }));
  ASSERT_TRUE(cancelled.console->Send(0, kFrames).ok());
  ASSERT_TRUE(
      Eventually([&] { return Job(cancelled.id).progress.frames_backprojected == kFrames; }));
  // Its last unit has ended as well, and it waits for the exporter.
  absl::Notification idle;
  service_->slot().lanes.NewLane({jobs::JobClass::kBatch})->Submit([&] { idle.Notify(); });
  idle.WaitForNotification();
  ASSERT_TRUE(service_->engine->Cancel(cancelled.id, absl::CancelledError("stop")).ok());
  ASSERT_TRUE(loses.console->Send(0, kFrames).ok());
  const jobs::Job job = AwaitEnd(cancelled.id);
  EXPECT_EQ(job.state, JobState::kCancelled);
  EXPECT_EQ(std::string(job.error.message()), "stop");
  service_->results.SetGate(true);
  go.Notify();
  EXPECT_EQ(AwaitEnd(blocks.id).state, JobState::kCompleted);
  EXPECT_EQ(VolumeOf(blocks.id), Batch());
  EXPECT_FALSE(jobs::HasEnded(Job(loses.id).state));
}

}  // namespace
}  // namespace isocenter::pipeline
