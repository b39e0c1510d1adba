// Room: what is reserved, what is refused, and what is removed for it.
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "server/base/try_again.h"
#include "server/spool/format.h"
#include "server/storage/files.h"
#include "tests/server/spool/spool_fixture.h"

namespace isocenter::spool {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Three pages and ten slots.
constexpr int kFrames = 10;
constexpr int64_t kBytes = 3000;
constexpr int64_t kFileBytes = 13 * kPageBytes;

class RoomTest : public SpoolTest {
 protected:
  void SetUp() override {
    SpoolTest::SetUp();
    options_.sync = SyncPolicy::kNever;
  }
  absl::Status TryCreate(const std::string& id) {
    return spool_->Create(id, "description", kFrames, kBytes, 0).status();
  }
  /// In the spool's directory, without its lock.
  size_t Files() { return Names().size(); }
};

/// Limits the size of files, which fails as a full disk does, for as long as it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    old_handler_ = signal(SIGXFSZ, SIG_IGN);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit before_{};
  sighandler_t old_handler_ = nullptr;
};

TEST_F(RoomTest, AllOfAFileIsReservedAtOnce) {
  Start();
  const auto job = Create("job", kFrames, kBytes);
  EXPECT_EQ(std::filesystem::file_size(PathOf("job")), kFileBytes);
  struct stat status {};
  ASSERT_EQ(stat(PathOf("job").c_str(), &status), 0);
  EXPECT_GE(status.st_blocks * 512, kFileBytes);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(spool_->usage().used_bytes, kFileBytes);
  EXPECT_EQ(spool_->usage().jobs, 1);
}

TEST_F(RoomTest, CapacityBoundsTheSum) {
  options_.capacity_bytes = 2 * kFileBytes;
  Start();
  EXPECT_TRUE(TryCreate("a").ok());
  EXPECT_TRUE(TryCreate("b").ok());
  const absl::Status refused = TryCreate("c");
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr(absl::StrCat(BytesText(kFileBytes), " are needed")),
                    HasSubstr("are free on the disk"),
                    HasSubstr(absl::StrCat(
                        BytesText(2 * kFileBytes), " are used of ", BytesText(2 * kFileBytes),
                        " that may be (spool.capacity_bytes), 0 bytes of them reclaimable"))));
  EXPECT_THAT(Names(), ElementsAre("a.spool", "b.spool"));
  Restart();  // what is there counts again
  EXPECT_EQ(TryCreate("c").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(spool_->Remove("a").ok());
  EXPECT_TRUE(spool_->Remove("a").ok());
  EXPECT_TRUE(TryCreate("c").ok());
  EXPECT_THAT(Names(), ElementsAre("b.spool", "c.spool"));
}

TEST_F(RoomTest, ReleasedJobsGoOldestFirstAndOnlyForRoom) {
  options_.capacity_bytes = 4 * kFileBytes;
  options_.retention = absl::Hours(10);
  Start();
  for (const char* id : {"a", "b", "c", "d"}) ASSERT_TRUE(TryCreate(id).ok());
  for (const char* id : {"c", "a", "d"}) {
    ++seconds_;
    spool_->Release(id);
  }
  EXPECT_THAT(Names(), ElementsAre("a.released", "b.spool", "c.released", "d.released"));
  EXPECT_EQ(spool_->usage().reclaimable_bytes, 3 * kFileBytes);
  EXPECT_TRUE(spool_->Open("a").ok());  // still readable

  Restart();  // the order of release survives
  EXPECT_EQ(spool_->usage().reclaimable_bytes, 3 * kFileBytes);
  EXPECT_TRUE(TryCreate("e").ok());
  EXPECT_THAT(spool_->Jobs(), ElementsAre("a", "b", "d", "e"));
  EXPECT_TRUE(TryCreate("f").ok());
  EXPECT_THAT(spool_->Jobs(), ElementsAre("b", "d", "e", "f"));

  // What would not fit in any case removes nothing.
  EXPECT_EQ(spool_->Create("g", "", 3 * kFrames, kBytes, 0).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(spool_->Jobs(), ElementsAre("b", "d", "e", "f"));
}

TEST_F(RoomTest, WhatTheEmptyDiskWouldNotHoldIsNotForLater) {
  int64_t total = 2 * kFileBytes;
  options_.disk = [&]() -> absl::StatusOr<jobs::Disk> {
    return jobs::Disk{.id = 1, .free_bytes = kFileBytes - 1, .total_bytes = total};
  };
  Start();
  EXPECT_TRUE(MayTryAgain(TryCreate("a")));
  total = kFileBytes - 1;
  const absl::Status refused = TryCreate("a");
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(MayTryAgain(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("fewer or smaller frames take less"));
}

TEST_F(RoomTest, WhatIsPromisedToOthersIsSpared) {
  options_.retention = absl::Hours(10);
  // A disk of five files.
  options_.disk = [this]() -> absl::StatusOr<jobs::Disk> {
    return jobs::Disk{.id = 1, .free_bytes = (5 - static_cast<int64_t>(Files())) * kFileBytes};
  };
  Start();
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(TryCreate(id).ok());
    ++seconds_;
    spool_->Release(id);
  }
  const auto create = [&](const char* id, int64_t spared) {
    return spool_->Create(id, "description", kFrames, kBytes, spared).status();
  };
  // Not even without all three.
  const absl::Status refused = create("d", 4 * kFileBytes + 1);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(
      std::string(refused.message()),
      HasSubstr(absl::StrCat(BytesText(4 * kFileBytes + 1), " are promised there to results")));
  EXPECT_THAT(spool_->Jobs(), ElementsAre("a", "b", "c"));
  // Two files are free: one is for d, and of the promised two another is missing.
  EXPECT_TRUE(create("d", 2 * kFileBytes).ok());
  EXPECT_THAT(spool_->Jobs(), ElementsAre("b", "c", "d"));
}

TEST_F(RoomTest, AShareOfTheDiskGrowsWithWhatBecomesFree) {
  int64_t free = 0;
  options_.capacity_bytes = 1;  // half of a full disk
  options_.capacity_follows_disk = true;
  options_.disk = [&]() -> absl::StatusOr<jobs::Disk> {
    return jobs::Disk{.id = 1, .free_bytes = free};
  };
  Start();
  EXPECT_EQ(TryCreate("a").code(), absl::StatusCode::kResourceExhausted);
  free = 2 * kFileBytes;
  EXPECT_TRUE(TryCreate("a").ok());
  EXPECT_EQ(spool_->usage().capacity_bytes, kFileBytes);
  // Half of what is free and of what it holds; it never becomes less.
  EXPECT_EQ(TryCreate("b").code(), absl::StatusCode::kResourceExhausted);
  free = 3 * kFileBytes;
  EXPECT_TRUE(TryCreate("b").ok());
  EXPECT_EQ(spool_->usage().capacity_bytes, 2 * kFileBytes);
  free = 0;
  EXPECT_EQ(TryCreate("c").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(spool_->usage().capacity_bytes, 2 * kFileBytes);
}

TEST_F(RoomTest, TheDiskIsFreedForOthersIfThatSuffices) {
  options_.retention = absl::Hours(10);
  options_.disk = [this]() -> absl::StatusOr<jobs::Disk> {
    return jobs::Disk{.id = 1, .free_bytes = (5 - static_cast<int64_t>(Files())) * kFileBytes};
  };
  Start();
  for (const char* id : {"a", "b", "c", "active"}) ASSERT_TRUE(TryCreate(id).ok());
  for (const char* id : {"b", "a", "c"}) {
    ++seconds_;
    spool_->Release(id);
  }
  EXPECT_EQ(spool_->GetDisk()->reclaimable_bytes, 3 * kFileBytes);
  spool_->FreeDisk(4 * kFileBytes + 1);
  EXPECT_THAT(spool_->Jobs(), ElementsAre("a", "active", "b", "c"));
  spool_->FreeDisk(kFileBytes);  // it is
  EXPECT_THAT(spool_->Jobs(), ElementsAre("a", "active", "b", "c"));
  spool_->FreeDisk(2 * kFileBytes + 1);
  EXPECT_THAT(spool_->Jobs(), ElementsAre("active", "c"));
}

TEST_F(RoomTest, NothingIsReclaimedWhileItIsRead) {
  options_.capacity_bytes = kFileBytes;
  options_.retention = absl::Hours(10);
  Start();
  ASSERT_TRUE(TryCreate("a").ok());
  auto job = spool_->Open("a");
  spool_->Release("a");
  EXPECT_EQ(TryCreate("b").code(), absl::StatusCode::kResourceExhausted);
  job->reset();
  EXPECT_TRUE(TryCreate("b").ok());
}

TEST_F(RoomTest, RetainedJobsStayUntilTheyAreReleasedAgain) {
  options_.capacity_bytes = kFileBytes;
  options_.retention = absl::Hours(10);
  Start();
  ASSERT_TRUE(TryCreate("a").ok());
  EXPECT_TRUE(spool_->Retain("a").ok());  // it was never released
  spool_->Release("a");
  EXPECT_TRUE(spool_->Retain("a").ok());
  EXPECT_THAT(Names(), ElementsAre("a.spool"));
  EXPECT_EQ(TryCreate("b").code(), absl::StatusCode::kResourceExhausted);
  Restart();
  EXPECT_TRUE(spool_->Open("a").ok());
  EXPECT_EQ(TryCreate("b").code(), absl::StatusCode::kResourceExhausted);
  spool_->Release("a");
  EXPECT_TRUE(TryCreate("b").ok());
  const absl::Status gone = spool_->Retain("a");
  EXPECT_EQ(gone.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(gone.message()), HasSubstr("keeps them for 36000 s"));
}

TEST_F(RoomTest, RetentionEndsByItself) {
  options_.retention = absl::ZeroDuration();
  Start();
  ASSERT_TRUE(TryCreate("a").ok());
  ASSERT_TRUE(TryCreate("b").ok());
  auto job = spool_->Open("b");
  spool_->Release("a");
  spool_->Release("b");
  EXPECT_THAT(spool_->Jobs(), ElementsAre("b"));
  job->reset();
  while (!spool_->Jobs().empty()) std::this_thread::yield();
  EXPECT_THAT(Names(), IsEmpty());

  spool_.reset();
  options_.clock = nullptr;
  options_.retention = absl::Milliseconds(30);
  Start();
  ASSERT_TRUE(TryCreate("c").ok());
  spool_->Release("c");
  while (!spool_->Jobs().empty()) std::this_thread::yield();
}

TEST_F(RoomTest, RetentionIsCheckedWhenSomethingHappens) {
  options_.retention = absl::Hours(1);
  Start();
  ASSERT_TRUE(TryCreate("a").ok());
  spool_->Release("a");
  spool_->Release("unknown");
  seconds_ += 3599;
  ASSERT_TRUE(TryCreate("b").ok());
  EXPECT_THAT(spool_->Jobs(), ElementsAre("a", "b"));
  ++seconds_;
  ASSERT_TRUE(TryCreate("c").ok());
  EXPECT_THAT(spool_->Jobs(), ElementsAre("b", "c"));
}

TEST_F(RoomTest, DiskThatRefusesTheReservationLeavesNothing) {
  Start();
  absl::Status status;
  {
    const FileSizeLimit limit(kFileBytes / 2);
    status = TryCreate("job");
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat(BytesText(kFileBytes), " were needed")));
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_EQ(spool_->usage().used_bytes, 0);
  EXPECT_TRUE(TryCreate("job").ok());
}

TEST_F(RoomTest, MoreThanTheDiskHasIsRefusedBeforeItIsTried) {
  Start();
  const auto free_bytes = storage::FreeBytes(options_.directory);
  ASSERT_TRUE(free_bytes.ok());
  const absl::Status status =
      spool_->Create("job", "", 4, static_cast<int64_t>(*free_bytes), 0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("free on the disk"));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(RoomTest, FrameThatTheDiskDoesNotTake) {
  Start();
  const auto job = Create("job", kFrames, kBytes);
  absl::Status status;
  {
    const FileSizeLimit limit(4 * kPageBytes);
    EXPECT_TRUE(AppendNow(*job, FrameOf(0, kBytes)).ok());
    status = AppendNow(*job, FrameOf(1, kBytes));
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(job->states()[1], jobs::FrameState::kMissing);
  EXPECT_TRUE(AppendNow(*job, FrameOf(1, kBytes)).ok());
}

TEST_F(RoomTest, SmallFileSystem) {
  // A file system of one megabyte, in a mount namespace of a child.
  std::filesystem::create_directories(options_.directory);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  constexpr int kNotPermitted = 77;
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", options_.directory.c_str(), "tmpfs", 0, "size=1m") != 0) {
      _exit(kNotPermitted);
    }
    options_.retention = absl::Hours(1);
    auto spool = Spool::Open(options_);
    if (!spool.ok()) _exit(1);
    int jobs = 0;
    absl::Status status;
    for (; status.ok() && jobs < 100; ++jobs) {
      status = (*spool)->Create(absl::StrCat(jobs), "", kFrames, kBytes, 0).status();
    }
    if (status.code() != absl::StatusCode::kResourceExhausted) _exit(2);
    if ((*spool)->Jobs().size() != static_cast<size_t>(jobs - 1)) _exit(3);
    (*spool)->Release("0");
    if (!(*spool)->Create("more", "", kFrames, kBytes, 0).ok()) _exit(4);
    if ((*spool)->Open("0").status().code() != absl::StatusCode::kNotFound) _exit(5);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNotPermitted) GTEST_SKIP() << "mounting is not permitted";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(RoomTest, KnowsWhetherItWasThere) {
  EXPECT_FALSE(Spool::IsAt(options_.directory));
  Start();
  EXPECT_TRUE(Spool::IsAt(options_.directory));
  EXPECT_TRUE(spool_->is_new());
  spool_.reset();
  Start();
  EXPECT_FALSE(spool_->is_new());
}

TEST_F(RoomTest, SecondOpenerIsRefused) {
  Start();
  const auto second = Spool::Open(options_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("in use by another process"));
}

}  // namespace
}  // namespace isocenter::spool
