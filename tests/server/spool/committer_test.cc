// When a frame counts as durable: what the policies sync, and what happens when a sync fails.
#include <cerrno>
#include <thread>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "tests/server/spool/spool_fixture.h"

namespace isocenter::spool {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t kBytes = 1000;

/// In place of fdatasync: counts, and can be held up or made to fail.
class FakeDisk {
 public:
  int Sync() {
    absl::MutexLock lock(&mutex_);
    ++begun_;
    mutex_.Await(absl::Condition(&is_open_));
    if (fails_) {
      errno = EIO;
      return -1;
    }
    return 0;
  }
  void Hold() { Set(is_open_, false); }
  void Go() { Set(is_open_, true); }
  void Fail(bool fails) { Set(fails_, fails); }
  int begun() {
    absl::MutexLock lock(&mutex_);
    return begun_;
  }
  void AwaitBegun(int count) {
    absl::MutexLock lock(&mutex_);
    const auto has_begun = [&] { return begun_ >= count; };
    mutex_.Await(absl::Condition(&has_begun));
  }

 private:
  void Set(bool& flag, bool value) {
    absl::MutexLock lock(&mutex_);
    flag = value;
  }
  absl::Mutex mutex_;
  int begun_ = 0;
  bool is_open_ = true, fails_ = false;
};

class CommitterTest : public SpoolTest {
 protected:
  void Start(SyncPolicy policy, absl::Duration interval = absl::Milliseconds(1)) {
    options_.sync = policy;
    options_.sync_interval = interval;
    options_.sync_file = [this](int) { return disk_.Sync(); };
    options_.on_sync = [this](absl::Duration) { ++reported_; };
    SpoolTest::Start();
  }
  FakeDisk disk_;
  std::atomic<int> reported_ = 0;
};

TEST_F(CommitterTest, FramesOfOneSyncShareTheNext) {
  Start(SyncPolicy::kAlways);
  constexpr int kFrames = 64;
  const auto job = Create("job", kFrames, kBytes);
  disk_.Hold();
  std::atomic<int> acknowledged = 0;
  absl::BlockingCounter left(kFrames);
  const auto append = [&](int index) {
    job->Append(FrameOf(index, kBytes), [&](const absl::Status& status) {
      EXPECT_TRUE(status.ok()) << status;
      ++acknowledged;
      left.DecrementCount();
    });
  };
  append(0);
  disk_.AwaitBegun(1);
  for (int i = 1; i < kFrames; ++i) append(i);
  while (job->states().back() != jobs::FrameState::kPresent ||
         spool_->usage().unsynced_bytes < kFrames * kPageBytes) {
    std::this_thread::yield();
  }
  EXPECT_EQ(acknowledged, 0);  // all are written, none is safe
  disk_.Go();
  left.Wait();
  EXPECT_EQ(disk_.begun(), 2);
  EXPECT_EQ(reported_, 2);
  EXPECT_EQ(spool_->usage().unsynced_bytes, 0);
}

TEST_F(CommitterTest, DuplicateWaitsForTheSyncOfTheFirst) {
  Start(SyncPolicy::kAlways);
  const auto job = Create("job", 1, kBytes);
  disk_.Hold();
  std::atomic<int> acknowledged = 0;
  absl::BlockingCounter left(2);
  const auto done = [&](const absl::Status&) {
    ++acknowledged;
    left.DecrementCount();
  };
  job->Append(FrameOf(0, kBytes), done);
  disk_.AwaitBegun(1);
  job->Append(FrameOf(0, kBytes), done);
  EXPECT_EQ(acknowledged, 0);
  disk_.Go();
  left.Wait();
}

TEST_F(CommitterTest, RecordsAreSyncedBeforeTheyReturn) {
  Start(SyncPolicy::kAlways);
  const auto job = Create("job", 1, kBytes);
  EXPECT_TRUE(job->DeclareGap(0).ok());
  EXPECT_EQ(disk_.begun(), 1);
  EXPECT_TRUE(job->Finish().ok());
  EXPECT_EQ(disk_.begun(), 2);
}

TEST_F(CommitterTest, IntervalAcknowledgesBeforeTheSyncAndSyncsAll) {
  Start(SyncPolicy::kInterval);
  disk_.Hold();
  const auto job = Create("job", 20, kBytes);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(AppendNow(*job, FrameOf(i, kBytes)).ok());
  EXPECT_TRUE(job->Finish().ok());
  disk_.AwaitBegun(1);
  EXPECT_GT(spool_->usage().unsynced_bytes, 0);
  disk_.Go();
  while (spool_->usage().unsynced_bytes > 0) std::this_thread::yield();
}

TEST_F(CommitterTest, IntervalIsKept) {
  Start(SyncPolicy::kInterval, absl::Hours(1));
  auto job = Create("job", 20, kBytes);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(AppendNow(*job, FrameOf(i, kBytes)).ok());
  EXPECT_LE(disk_.begun(), 1);
  job.reset();
  spool_.reset();  // what is left is synced at the end, at once
  EXPECT_GE(disk_.begun(), 1);
  EXPECT_LE(disk_.begun(), 2);
}

TEST_F(CommitterTest, NeverMeansNever) {
  Start(SyncPolicy::kNever);
  {
    const auto job = Create("job", 2, kBytes);
    EXPECT_TRUE(AppendNow(*job, FrameOf(0, kBytes)).ok());
    EXPECT_TRUE(job->DeclareGap(1).ok());
    EXPECT_TRUE(job->Finish().ok());
  }
  spool_.reset();
  EXPECT_EQ(disk_.begun(), 0);
}

TEST_F(CommitterTest, AfterAFailedSyncNothingIsAcknowledged) {
  Start(SyncPolicy::kAlways);
  const auto job = Create("job", 3, kBytes);
  const auto other = Create("other", 1, kBytes);
  EXPECT_TRUE(AppendNow(*job, FrameOf(0, kBytes)).ok());
  disk_.Fail(true);
  const absl::Status failed = AppendNow(*job, FrameOf(1, kBytes));
  EXPECT_EQ(failed.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(failed.message()), HasSubstr("cannot sync"));
  disk_.Fail(false);
  // The system would report success now, of frames that may be lost.
  EXPECT_EQ(AppendNow(*job, FrameOf(1, kBytes)).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(AppendNow(*job, FrameOf(2, kBytes)).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(job->DeclareGap(2).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(job->Finish().code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(AppendNow(*other, FrameOf(0, kBytes)).ok());  // files fail each for itself
}

TEST_F(CommitterTest, EndOfTheSpoolWaitsForAll) {
  Start(SyncPolicy::kAlways);
  std::atomic<int> acknowledged = 0;
  auto job = Create("job", 50, kBytes);
  for (int i = 0; i < 50; ++i) {
    job->Append(FrameOf(i, kBytes), [&](const absl::Status&) { ++acknowledged; });
  }
  job.reset();
  spool_.reset();
  EXPECT_EQ(acknowledged, 50);
}

}  // namespace
}  // namespace isocenter::spool
