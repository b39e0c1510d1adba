#include "server/replicas/replicated_spool.h"

#include <atomic>

#include "absl/synchronization/notification.h"
#include "tests/server/fakes/eventually.h"
#include "tests/server/replicas/fake_keeper.h"
#include "tests/server/spool/spool_fixture.h"

namespace isocenter::replicas {
namespace {

using isocenter::testing::Eventually;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kBytes = 1000;

class ReplicatedSpoolTest : public spool::SpoolTest {
 protected:
  void SetUp() override {
    SpoolTest::SetUp();
    Start();
    Replicate();
  }
  void Replicate() {
    replicated_ = std::make_unique<ReplicatedSpool>(
        *spool_,
        LinkEnvironment{.keeper = keeper_,
                        .origin = {.node = "recon1", .spool_id = std::string(32, 'a')},
                        .keeper_node = "recon2",
                        .patience = absl::Milliseconds(300),
                        .first_pause = absl::Milliseconds(20),
                        .longest_pause = absl::Milliseconds(100),
                        .begun_by = [this](const std::string&) -> absl::StatusOr<std::string> {
                          if (job_has_ended_) return absl::FailedPreconditionError("it has ended");
                          return "token room1";
                        },
                        .on_lost =
                            [this](const std::string&, const std::string& why) {
                              absl::MutexLock lock(&mutex_);
                              lost_.push_back(why);
                            }},
        [](const jobs::JobSpool&) { return kBytes; });
  }
  void TearDown() override {
    job_.reset();
    replicated_.reset();
  }
  void Begin(int frames = 3) {
    auto job = replicated_->Create("job", "acquisition", frames, kBytes, 0);
    ASSERT_TRUE(job.ok()) << job.status();
    job_ = *std::move(job);
  }
  std::vector<std::string> lost() {
    absl::MutexLock lock(&mutex_);
    return lost_;
  }

  FakeKeeper keeper_;
  std::atomic<bool> job_has_ended_ = false;
  std::unique_ptr<ReplicatedSpool> replicated_;
  std::shared_ptr<jobs::JobSpool> job_;
  absl::Mutex mutex_;
  std::vector<std::string> lost_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(ReplicatedSpoolTest, AFrameIsAcknowledgedWhenTheKeeperHasItsBytes) {
  Begin();
  for (const int index : {2, 0}) {
    ASSERT_TRUE(spool::AppendNow(*job_, spool::FrameOf(index, kBytes)).ok());
    const auto pixels = spool::PixelsOf(index, kBytes);
    EXPECT_EQ(keeper_.frames("job").at(index),
              std::string(reinterpret_cast<const char*>(pixels.data()), pixels.size()));
  }
  EXPECT_EQ(keeper_.header("job").begun_by, "token room1");
  EXPECT_EQ(keeper_.header("job").acquisition, "acquisition");
  EXPECT_EQ(keeper_.header("job").frames, 3);
  EXPECT_THAT(lost(), IsEmpty());
  EXPECT_EQ(replicated_->usage().jobs, 1);
}

TEST_F(ReplicatedSpoolTest, FramesOutOfOrderAndTwiceAreSentOnce) {
  Begin();
  for (const int index : {2, 1, 2, 0, 1}) {
    ASSERT_TRUE(spool::AppendNow(*job_, spool::FrameOf(index, kBytes)).ok());
  }
  EXPECT_EQ(keeper_.sent(), 3);
}

TEST_F(ReplicatedSpoolTest, TheEndComesAfterAllFramesAndGaps) {
  Begin();
  ASSERT_TRUE(spool::AppendNow(*job_, spool::FrameOf(0, kBytes)).ok());
  keeper_.Be(FakeKeeper::Mood::kStalls);
  absl::Notification done;
  job_->Append(spool::FrameOf(2, kBytes), [&](const absl::Status&) { done.Notify(); });
  ASSERT_TRUE(job_->DeclareGap(1).ok());
  ASSERT_TRUE(job_->Finish().ok());
  EXPECT_FALSE(keeper_.finished("job"));
  keeper_.Be(FakeKeeper::Mood::kWell);
  done.WaitForNotification();
  EXPECT_TRUE(Eventually([&] { return keeper_.finished("job"); }));
  EXPECT_THAT(keeper_.gaps("job"), ElementsAre(1));
}

TEST_F(ReplicatedSpoolTest, AKeeperThatStallsIsWarnedOfBeforeTheFrameIsAcknowledgedWithoutIt) {
  Begin();
  keeper_.Be(FakeKeeper::Mood::kStalls);
  std::atomic<size_t> warnings_at_done = 0;
  absl::Notification done;
  const absl::Time begin = absl::Now();
  job_->Append(spool::FrameOf(0, kBytes), [&](const absl::Status& status) {
    EXPECT_TRUE(status.ok()) << status;
    warnings_at_done = lost().size();
    done.Notify();
  });
  done.WaitForNotification();
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(250));
  EXPECT_EQ(warnings_at_done, 1u);
  EXPECT_THAT(lost().front(), HasSubstr("has not acknowledged a frame within 300ms"));
  // Nobody waits again, and nobody is warned again.
  ASSERT_TRUE(spool::AppendNow(*job_, spool::FrameOf(1, kBytes)).ok());
  EXPECT_EQ(lost().size(), 1u);
  EXPECT_EQ(replicated_->usage().degraded, 1);
  // When it is well again, it gets what it lacks.
  keeper_.Be(FakeKeeper::Mood::kWell);
  EXPECT_TRUE(Eventually([&] { return replicated_->usage().degraded == 0; }));
  EXPECT_EQ(keeper_.frames("job").size(), 2u);
}

TEST_F(ReplicatedSpoolTest, AKeeperThatRefusesCostsAWarning) {
  keeper_.Be(FakeKeeper::Mood::kRefuses);
  Begin();
  ASSERT_TRUE(spool::AppendNow(*job_, spool::FrameOf(0, kBytes)).ok());
  ASSERT_EQ(lost().size(), 1u);
  EXPECT_EQ(lost().front(), "it refuses");
  keeper_.Be(FakeKeeper::Mood::kWell);
  EXPECT_TRUE(Eventually([&] { return keeper_.frames("job").size() == 1; }));
}

TEST_F(ReplicatedSpoolTest, WhatIsDamagedOnItsWayIsNotSent) {
  Begin();
  jobs::SpoolFrame frame = spool::FrameOf(0, kBytes);
  frame.crc32c = 1;
  EXPECT_EQ(spool::AppendNow(*job_, std::move(frame)).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(keeper_.sent(), 0);
}

TEST_F(ReplicatedSpoolTest, AfterARestartTheKeeperGetsWhatItLacks) {
  Begin();
  ASSERT_TRUE(spool::AppendNow(*job_, spool::FrameOf(0, kBytes)).ok());
  keeper_.Be(FakeKeeper::Mood::kRefuses);
  ASSERT_TRUE(spool::AppendNow(*job_, spool::FrameOf(1, kBytes)).ok());
  job_.reset();
  replicated_.reset();
  Restart();
  keeper_.Be(FakeKeeper::Mood::kWell);
  Replicate();
  job_ = *replicated_->Open("job");
  EXPECT_TRUE(Eventually([&] { return keeper_.frames("job").size() == 2; }));
}

TEST_F(ReplicatedSpoolTest, JobsThatHaveEndedNeedNoCopies) {
  Begin();
  replicated_->StartReports();
  EXPECT_TRUE(Eventually([&] { return !keeper_.reported().empty(); }));
  EXPECT_THAT(keeper_.reported(), ElementsAre("job"));
  job_.reset();
  job_has_ended_ = true;
  replicated_->Release("job");
  EXPECT_TRUE(Eventually([&] { return keeper_.reported().empty(); }));
  EXPECT_EQ(replicated_->usage().jobs, 0);
  // Its frames are looked at again, for a refinement.
  ASSERT_TRUE(spool_->Create("other", "acquisition", 1, kBytes, 0).ok());
  ASSERT_TRUE(replicated_->Open("other").ok());
  EXPECT_EQ(replicated_->usage().jobs, 0);
}

TEST_F(ReplicatedSpoolTest, WhoeverWaitsIsAnsweredWhenTheJobEnds) {
  Begin();
  keeper_.Be(FakeKeeper::Mood::kStalls);
  absl::Notification done;
  job_->Append(spool::FrameOf(0, kBytes), [&](const absl::Status&) { done.Notify(); });
  ASSERT_TRUE(Eventually([&] { return keeper_.sent() == 1; }));
  replicated_->Release("job");
  done.WaitForNotification();
  EXPECT_THAT(lost(), IsEmpty());
}

TEST(SpoolIdTest, StaysWithTheDirectory) {
  const isocenter::testing::TemporaryDirectory first, second;
  const auto id = SpoolId(first.path());
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_EQ(*SpoolId(first.path()), *id);
  EXPECT_NE(*SpoolId(second.path()), *id);
  spool::WriteFile(first.path() / "replica-id", spool::Bytes(32));
  EXPECT_EQ(SpoolId(first.path()).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace isocenter::replicas
