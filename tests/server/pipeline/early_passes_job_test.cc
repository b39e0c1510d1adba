// Refinements with early passes, as jobs: what they do with the frames that came first is the same
// wherever their service was when those came, and whatever became of what it had begun by then.
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "tests/server/pipeline/refinement_fixture.h"

namespace isocenter::pipeline {
namespace {

class EarlyPassesJobTest : public RefinementTest {
 protected:
  void SetUp() override { StartCounting({.retention = absl::Hours(1)}); }
  void StartCounting(PipelineOptions options) {
    {
      absl::MutexLock lock(&mutex_);
      ends_.clear();
    }
    options.engine.early_refinement_ended = [this](absl::string_view outcome, int frames) {
      absl::MutexLock lock(&mutex_);
      ++ends_[std::string(outcome)];
      frames_ = frames;
    };
    Start(std::move(options));
  }
  int Ends(const std::string& outcome) {
    absl::MutexLock lock(&mutex_);
    return ends_[outcome];
  }
  int FramesDone() {
    absl::MutexLock lock(&mutex_);
    return frames_;
  }

  RefinementRequest EarlyRecipe(bool warm_start) {
    RefinementRequest request{
        .protocol = "refined",
        .settings = recon::IterativeSettings{.algorithm = recon::Algorithm::kOsSart,
                                             .iterations = 2,
                                             .subsets = 4,
                                             .warm_start = warm_start,
                                             .early_passes = 3},
        .record = warm_start ? "early" : "early from zero"};
    recipes_[request.record] = request;
    return request;
  }
  static RefinementRequest Without(RefinementRequest request) {
    std::get<recon::IterativeSettings>(request.settings).early_passes = 0;
    return request;
  }
  AcquisitionRequest EarlyRequest(bool warm_start = false) {
    AcquisitionRequest request = SmallRequest();
    request.refinement = EarlyRecipe(warm_start);
    return request;
  }
  int64_t Used() { return service_->slot().memory.used(); }
  /// A scan whose early refinement has begun, and the memory that both take.
  Live BeginEarly(const AcquisitionRequest& request, int64_t* early_bytes = nullptr) {
    Live live = Begin(request);
    EXPECT_TRUE(Eventually([&] { return service_->scheduler->active_jobs() >= 2; }));
    if (early_bytes != nullptr) *early_bytes = Used();
    return live;
  }
  /// Returns when the device has nothing to do that is better than batch work.
  void AwaitDevice() {
    absl::Notification idle;
    service_->slot().lanes.NewLane({.job_class = jobs::JobClass::kBatch})->Submit([&idle] {
      idle.Notify();
    });
    idle.WaitForNotification();
  }
  void SendRest(const Live& live, int first) {
    ASSERT_TRUE(live.console->Send(first, kFrames).ok());
    ASSERT_TRUE(live.console->Finish().ok());
  }
  void ExpectRefined(const std::string& id, const AcquisitionRequest& request) {
    EXPECT_EQ(AwaitEnd(id).state, JobState::kCompleted);
    const jobs::Job job = AwaitEnd(id + "-ref");
    ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
    // Only those over all frames are reported.
    EXPECT_EQ(job.progress.iterations_done, 2);
    EXPECT_EQ(job.refinement.iterations.size(), 2u);
    EXPECT_EQ(job.progress.refined_fraction, 1);
    EXPECT_EQ(VolumeOf(id), Batch(request));
    EXPECT_EQ(VolumeOf(job.id), RefinedBatch(*request.refinement, request));
  }
  /// The refinement that followed was begun early, and has the volume of one that begins now.
  void ExpectAsRefinedLater(const std::string& id, const RefinementRequest& recipe) {
    const jobs::Job early = AwaitEnd(id + "-ref");
    ASSERT_EQ(early.state, JobState::kCompleted) << early.error;
    EXPECT_EQ(Ends("used"), 1);
    const auto later = Refine(id, recipe);
    ASSERT_TRUE(later.ok()) << later.status();
    ASSERT_EQ(AwaitEnd((*later)->id).state, JobState::kCompleted);
    EXPECT_EQ(VolumeOf(early.id), VolumeOf((*later)->id));
  }

 private:
  absl::Mutex mutex_;
  std::map<std::string, int> ends_ ABSL_GUARDED_BY(mutex_);
  int frames_ ABSL_GUARDED_BY(mutex_) = -1;
};

TEST_F(EarlyPassesJobTest, AreThoseOfOneCallFromFdkAndFromZero) {
  for (const bool warm_start : {true, false}) {
    const AcquisitionRequest request = EarlyRequest(warm_start);
    const std::string id = Acquire(request);
    ExpectRefined(id, request);
    // Early passes from zero are passes; sums differ by rounding at most.
    if (!warm_start) {
      EXPECT_NE(VolumeOf(id + "-ref"), RefinedBatch(Without(*request.refinement)));
    }
  }
  ExpectNothingHeld();
}

TEST_F(EarlyPassesJobTest, AreDoneWhileTheArmTurns) {
  for (const bool warm_start : {true, false}) {
    const AcquisitionRequest request = EarlyRequest(warm_start);
    {
      const Live live = BeginEarly(request);
      // In disorder, with pauses in which there is time for passes.
      constexpr int kBefore = 30;
      for (int first = 0; first < kBefore; first += 10) {
        ASSERT_TRUE(live.console->Send(first + 5, first + 10).ok());
        ASSERT_TRUE(live.console->Send(first, first + 5).ok());
        AwaitSpooled(live.id, first + 10);
        AwaitDevice();
      }
      SendRest(live, kBefore);
      ExpectRefined(live.id, request);
    }
    EXPECT_EQ(Ends("used"), warm_start ? 1 : 2);
    EXPECT_EQ(Ends("given_up"), 0);
    EXPECT_GE(FramesDone(), 30);
    ExpectNothingHeld();
  }
}

TEST_F(EarlyPassesJobTest, AreFollowedByTheRestWhileTheFirstVolumeIsStored) {
  for (const bool warm_start : {true, false}) {
    PipelineOptions options{.retention = absl::Hours(1)};
    options.engine.store_again = absl::Milliseconds(20);
    StartCounting(std::move(options));
    const AcquisitionRequest request = EarlyRequest(warm_start);
    {
      const Live live = BeginEarly(request);
      service_->results.SetFreeBytes(0);
      const auto left = [&] { return service_->slot().backlog.Ahead(jobs::JobClass::kBatch); };
      const double all = left();
      ASSERT_GT(all, 0);
      SendRest(live, 0);
      EXPECT_TRUE(Eventually([&] { return left() < 1e-6 * all; })) << left() << " of " << all;
      EXPECT_FALSE(service_->table->Get(live.id + "-ref").ok());
      EXPECT_EQ(Ends("used"), 0);
      service_->results.SetFreeBytes(int64_t{1} << 40);
      ExpectRefined(live.id, request);
      EXPECT_EQ(Ends("used"), 1);
    }
    ExpectNothingHeld();
  }
}

TEST_F(EarlyPassesJobTest, TakeCountsByTheDoseOfEachFrame) {
  AcquisitionRequest request = SmallRequest(recon::PixelType::kUint16Counts);
  request.refinement = EarlyRecipe(/*warm_start=*/true);
  std::string id;
  {
    const Live live = BeginEarly(request);
    id = live.id;
    for (int view = 0; view < kFrames; ++view) {
      live.console->dose = 1 + 0.01f * static_cast<float>(view % 5);
      ASSERT_TRUE(live.console->SendOne(view).ok());
      if (view != 30) continue;
      AwaitSpooled(id, view + 1);
      AwaitDevice();
    }
    ASSERT_TRUE(live.console->Finish().ok());
    EXPECT_EQ(AwaitEnd(id).state, JobState::kCompleted);
  }
  ExpectAsRefinedLater(id, *request.refinement);
}

TEST_F(EarlyPassesJobTest, GiveWayToAnotherScan) {
  // Room for two scans, or for one and what is done early.
  const AcquisitionRequest request = EarlyRequest();
  int64_t both = 0, alone = 0;
  {
    const Live live = BeginEarly(request, &both);
    ASSERT_TRUE(service_->engine->Cancel(live.id, absl::CancelledError("measured")).ok());
    AwaitEnd(live.id);
  }
  ExpectNothingHeld();
  EXPECT_EQ(Ends("given_up"), 1);
  {
    const Live live = Begin(SmallRequest());
    alone = Used();
    ASSERT_TRUE(service_->engine->Cancel(live.id, absl::CancelledError("measured")).ok());
    AwaitEnd(live.id);
  }
  ASSERT_GT(both, alone);
  StartCounting({.memory_bytes = both + alone - 1, .retention = absl::Hours(1)});
  {
    const Live first = BeginEarly(request);
    ASSERT_TRUE(first.console->Send(0, 25).ok());
    AwaitSpooled(first.id, 25);
    const Live second = Begin(SmallRequest());
    EXPECT_EQ(Ends("given_up"), 1);
    SendRest(second, 0);
    SendRest(first, 25);
    ExpectRefined(first.id, request);
    EXPECT_EQ(AwaitEnd(second.id).state, JobState::kCompleted);
  }
  EXPECT_EQ(Ends("used"), 0);
  ExpectNothingHeld();
}

TEST_F(EarlyPassesJobTest, GiveWayToAScanThatIsAnnounced) {
  StartCounting({.max_active_jobs = 2, .retention = absl::Hours(1)});
  const AcquisitionRequest request = EarlyRequest();
  const Live live = BeginEarly(request);
  absl::Status quoted = absl::UnknownError("not answered");
  absl::Notification done;
  service_->engine->Predict(
      SmallRequest(), [] { return true; },
      [&](const absl::StatusOr<Engine::Quote>& quote) {
        quoted = quote.status();
        done.Notify();
      });
  done.WaitForNotification();
  EXPECT_TRUE(quoted.ok()) << quoted;
  SendRest(live, 0);
  ExpectRefined(live.id, request);
}

TEST_F(EarlyPassesJobTest, GiveUpTheirPlaceAmongTheJobs) {
  StartCounting({.max_active_jobs = 2, .retention = absl::Hours(1)});
  const AcquisitionRequest request = EarlyRequest();
  {
    const Live first = BeginEarly(request);
    AcquisitionRequest batch = SmallRequest();
    batch.job_class = jobs::JobClass::kInteractive;
    const Live second = Begin(batch);
    EXPECT_EQ(Ends("given_up"), 1);
    SendRest(second, 0);
    SendRest(first, 0);
    ExpectRefined(first.id, request);
  }
  ExpectNothingHeld();
}

TEST_F(EarlyPassesJobTest, AreNotBegunWithoutRoom) {
  StartCounting({.max_active_jobs = 1, .retention = absl::Hours(1)});
  const AcquisitionRequest request = EarlyRequest();
  const std::string id = Acquire(request);
  ExpectRefined(id, request);
  EXPECT_EQ(Ends("used") + Ends("given_up"), 0);
  ExpectNothingHeld();
}

TEST_F(EarlyPassesJobTest, OfAScanThatIsNotLiveAreDoneAfterIt) {
  AcquisitionRequest request = EarlyRequest();
  request.job_class = jobs::JobClass::kBatch;
  const std::string id = Acquire(request);
  ExpectRefined(id, request);
  EXPECT_EQ(Ends("used") + Ends("given_up"), 0);
}

TEST_F(EarlyPassesJobTest, GoOnlyUntilALostFrame) {
  const AcquisitionRequest request = EarlyRequest();
  std::string id;
  {
    const Live live = BeginEarly(request);
    id = live.id;
    ASSERT_TRUE(live.console->Send(0, 22).ok());
    AwaitSpooled(id, 22);
    AwaitDevice();
    ASSERT_TRUE(live.console->Send(23, kFrames).ok());
    ASSERT_TRUE(live.console->Finish().ok());
    EXPECT_EQ(AwaitEnd(id).state, JobState::kCompleted);
  }
  EXPECT_EQ(Job(id).progress.frames_lost, 1);
  ExpectAsRefinedLater(id, *request.refinement);
  EXPECT_EQ(FramesDone(), 22);
  ExpectNothingHeld();
}

TEST_F(EarlyPassesJobTest, OutliveTheLossOfADevice) {
  for (const int chunks : {1, 3, 6, 12}) {
    StartCounting({.slots = 2,
                   .retention = absl::Hours(1),
                   .engine = {.fault = DeviceFault{.slot = "reference0", .chunks = chunks}}});
    const AcquisitionRequest request = EarlyRequest(/*warm_start=*/true);
    {
      const Live live = BeginEarly(request);
      ASSERT_TRUE(live.console->Send(0, 30).ok());
      AwaitSpooled(live.id, 30);
      SendRest(live, 30);
      ExpectRefined(live.id, request);
    }
    ExpectNothingHeld();
  }
}

TEST_F(EarlyPassesJobTest, AreLeftWithTheirScanAndWithTheService) {
  const AcquisitionRequest request = EarlyRequest();
  {
    const Live live = BeginEarly(request);
    ASSERT_TRUE(live.console->Send(0, 25).ok());
    AwaitSpooled(live.id, 25);
    ASSERT_TRUE(service_->engine->Cancel(live.id, absl::CancelledError("by the test")).ok());
    EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCancelled);
  }
  ExpectNothingHeld();
  EXPECT_EQ(Ends("given_up"), 1);
  {
    const Live live = BeginEarly(request);
    ASSERT_TRUE(live.console->Send(0, 25).ok());
    AwaitSpooled(live.id, 25);
    service_->engine->StopAdmitting();
    EXPECT_EQ(Ends("given_up"), 2);
    // The scan goes on, and its refinement is for the next start.
    SendRest(live, 25);
    EXPECT_EQ(AwaitEnd(live.id).state, JobState::kCompleted);
  }
  EXPECT_EQ(Ends("used"), 0);
}

TEST_F(EarlyPassesJobTest, AreTheSameAfterARestartInMidScan) {
  const AcquisitionRequest request = EarlyRequest();
  constexpr int kBefore = 25;  // more than the first early pass is over
  const std::string id = [&] {
    const Live live = BeginEarly(request);
    EXPECT_TRUE(live.console->Send(0, kBefore).ok());
    AwaitSpooled(live.id, kBefore);
    return live.id;
  }();
  Restart();
  auto console = Resume(id);
  ASSERT_TRUE(console->Send(kBefore, kFrames).ok());
  ASSERT_TRUE(console->Finish().ok());
  console.reset();  // it holds the frames
  ExpectRefined(id, request);
  ExpectNothingHeld();
}

TEST_F(EarlyPassesJobTest, OnRequestAreThoseOfTheJobThatFollows) {
  const std::string id = Acquire();
  const RefinementRequest recipe = EarlyRecipe(/*warm_start=*/true);
  const auto accepted = Refine(id, recipe);
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  const jobs::Job job = AwaitEnd((*accepted)->id);
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(VolumeOf(job.id), RefinedBatch(recipe));
}

}  // namespace
}  // namespace isocenter::pipeline
