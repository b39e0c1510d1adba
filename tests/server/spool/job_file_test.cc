// What goes in comes out: in any order, from several threads, more than once, after a restart.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "absl/synchronization/blocking_counter.h"
#include "kernels/base/crc32c.h"
#include "tests/server/spool/spool_fixture.h"

namespace isocenter::spool {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using State = jobs::FrameState;

class JobFileTest : public SpoolTest, public ::testing::WithParamInterface<SyncPolicy> {
 protected:
  void SetUp() override {
    SpoolTest::SetUp();
    options_.sync = GetParam();
    options_.sync_interval = absl::Milliseconds(5);
    Start();
  }
};

INSTANTIATE_TEST_SUITE_P(Policies, JobFileTest,
                         ::testing::Values(SyncPolicy::kAlways, SyncPolicy::kInterval,
                                           SyncPolicy::kNever));

TEST_P(JobFileTest, FramesInAnyOrderFromSeveralThreads) {
  constexpr int kFrames = 120, kThreads = 4;
  constexpr int64_t kBytes = 10'007;  // no multiple of anything
  {
    const auto job = Create("job", kFrames, kBytes);
    std::vector<int> order(kFrames);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(7));
    absl::BlockingCounter left(kFrames);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = t; i < kFrames; i += kThreads) {
          job->Append(FrameOf(order[i], kBytes), [&](const absl::Status& status) {
            EXPECT_TRUE(status.ok()) << status;
            left.DecrementCount();
          });
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    left.Wait();
    EXPECT_THAT(job->states(), Each(State::kPresent));
    for (int i = 0; i < kFrames; ++i) ExpectFrame(*job, i, kBytes);
    EXPECT_FALSE(job->finished());
    EXPECT_TRUE(job->Finish().ok());
    EXPECT_TRUE(job->Finish().ok());
    EXPECT_TRUE(job->finished());
  }
  Restart();
  EXPECT_THAT(spool_->Jobs(), ElementsAre("job"));
  const auto job = spool_->Open("job");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ((*job)->acquisition(), "description of job");
  EXPECT_TRUE((*job)->finished());
  EXPECT_THAT((*job)->states(), Each(State::kPresent));
  for (int i = 0; i < kFrames; ++i) ExpectFrame(**job, i, kBytes);
}

TEST_P(JobFileTest, DuplicatesAtOnceAreAllAcknowledged) {
  const auto job = Create("job", 2, 5000);
  constexpr int kCopies = 50;
  absl::BlockingCounter left(kCopies);
  for (int i = 0; i < kCopies; ++i) {
    job->Append(FrameOf(1, 5000), [&](const absl::Status& status) {
      EXPECT_TRUE(status.ok()) << status;
      left.DecrementCount();
    });
  }
  left.Wait();
  ExpectFrame(*job, 1, 5000);
  EXPECT_THAT(job->states(), ElementsAre(State::kMissing, State::kPresent));
}

TEST_P(JobFileTest, GapsStand) {
  {
    const auto job = Create("job", 3, 100);
    EXPECT_TRUE(AppendNow(*job, FrameOf(0, 100)).ok());
    EXPECT_EQ(job->DeclareGap(0).code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(job->DeclareGap(1).ok());
    EXPECT_TRUE(job->DeclareGap(1).ok());
    EXPECT_EQ(job->DeclareGap(3).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(AppendNow(*job, FrameOf(1, 100)).ok());  // late: acknowledged, not used
    EXPECT_THAT(job->states(), ElementsAre(State::kPresent, State::kGap, State::kMissing));
  }
  Restart();
  const auto job = spool_->Open("job");
  ASSERT_TRUE(job.ok());
  EXPECT_THAT((*job)->states(), ElementsAre(State::kPresent, State::kGap, State::kMissing));
  Bytes pixels(100);
  EXPECT_EQ((*job)->Read(1, pixels).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(JobFileTest, PhasesAreOfFramesThatAreThere) {
  {
    const auto job = Create("job", 4, 100);
    for (const int index : {3, 0}) EXPECT_TRUE(AppendNow(*job, FrameOf(index, 100)).ok());
    EXPECT_TRUE(job->DeclareGap(1).ok());
    EXPECT_TRUE(AppendNow(*job, FrameOf(1, 100)).ok());  // late: not used
    EXPECT_THAT(job->phases(), ElementsAre(std::nullopt, std::nullopt, std::nullopt, PhaseOf(3)));
  }
  Restart();
  const auto job = spool_->Open("job");
  ASSERT_TRUE(job.ok());
  EXPECT_THAT((*job)->phases(), ElementsAre(std::nullopt, std::nullopt, std::nullopt, PhaseOf(3)));
}

TEST_P(JobFileTest, WrongFramesAreRefused) {
  const auto job = Create("job", 2, 64);
  EXPECT_EQ(AppendNow(*job, FrameOf(2, 64)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AppendNow(*job, FrameOf(-1, 64)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AppendNow(*job, FrameOf(0, 65)).code(), absl::StatusCode::kInvalidArgument);
  jobs::SpoolFrame frame = FrameOf(0, 64);
  frame.crc32c = Crc32c(PixelsOf(0, 64)) ^ 1;
  EXPECT_EQ(AppendNow(*job, frame).code(), absl::StatusCode::kDataLoss);
  // No damage: what a console computes that does not compute CRC-32C.
  EXPECT_THAT(std::string(AppendNow(*job, frame).message()), Not(HasSubstr("legal")));
  frame.crc32c = ExtendCrc32(0, PixelsOf(0, 64));
  EXPECT_THAT(std::string(AppendNow(*job, frame).message()),
              HasSubstr(": it is the CRC-32 of zlib and Ethernet; legal is CRC-32C"));
  frame.crc32c = __builtin_bswap32(Crc32c(PixelsOf(0, 64)));
  EXPECT_THAT(std::string(AppendNow(*job, frame).message()),
              HasSubstr(": the bytes of the checksum are reversed"));
  EXPECT_THAT(job->states(), Each(State::kMissing));
  frame.crc32c = Crc32c(PixelsOf(0, 64));
  EXPECT_TRUE(AppendNow(*job, frame).ok());
  ExpectFrame(*job, 0, 64);
  Bytes wrong(63);
  EXPECT_EQ(job->Read(0, wrong).status().code(), absl::StatusCode::kInvalidArgument);
  Bytes pixels(64);
  for (const int index : {1, 2, -1}) {
    EXPECT_EQ(job->Read(index, pixels).status().code(), absl::StatusCode::kNotFound);
  }
}

TEST_P(JobFileTest, FramesInMorePiecesThanOneSystemCallTakes) {
  constexpr int64_t kBytes = 5000;
  const auto job = Create("job", 1, kBytes);
  const Bytes pixels = PixelsOf(0, kBytes);
  jobs::SpoolFrame frame;
  for (const std::byte& pixel : pixels) frame.pixels.emplace_back(&pixel, 1);
  EXPECT_TRUE(AppendNow(*job, frame).ok());
  ExpectFrame(*job, 0, kBytes);
}

TEST_P(JobFileTest, FrameThatWentBadIsReportedAndMayBeSentAgain) {
  const auto job = Create("job", 1, 100);
  ASSERT_TRUE(AppendNow(*job, FrameOf(0, 100)).ok());
  const int descriptor = open(PathOf("job").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  // One pixel of slot 0, behind header, finish record, description and the slot's own header.
  ASSERT_EQ(pwrite(descriptor, "bad", 3, 3 * kPageBytes + kSlotHeaderBytes + 17), 3);
  close(descriptor);
  Bytes pixels(100);
  const auto read = job->Read(0, pixels);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("frame 0"));
  EXPECT_THAT(job->states(), ElementsAre(State::kMissing));
  ASSERT_TRUE(AppendNow(*job, FrameOf(0, 100)).ok());
  ExpectFrame(*job, 0, 100);
}

TEST_P(JobFileTest, MemoryIsGivenBackAfterTheWrite) {
  const auto job = Create("job", 1, 100);
  jobs::SpoolFrame frame = FrameOf(0, 100);
  const std::weak_ptr<const void> memory = frame.memory;
  ASSERT_TRUE(AppendNow(*job, std::move(frame)).ok());
  EXPECT_TRUE(memory.expired());
}

TEST_P(JobFileTest, EveryOpenerOfAJobGetsTheSameSpool) {
  const auto job = Create("job", 1, 100);
  EXPECT_EQ(*spool_->Open("job"), job);
  EXPECT_EQ(spool_->Open("other").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(spool_->Create("job", "", 1, 1, 0).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_P(JobFileTest, DoneMayAskForRecords) {
  const auto job = Create("job", 2, 100);
  absl::Notification done;
  absl::Status gap, finish;
  job->Append(FrameOf(0, 100), [&](const absl::Status&) {
    gap = job->DeclareGap(1);
    finish = job->Finish();
    done.Notify();
  });
  done.WaitForNotification();
  EXPECT_TRUE(gap.ok()) << gap;
  EXPECT_TRUE(finish.ok()) << finish;
}

}  // namespace
}  // namespace isocenter::spool
