#include "server/node/job_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/steady_clock.h"
#include "tests/server/fakes/service_under_test.h"

namespace isocenter::node {
namespace {

class JobFeedTest : public ::testing::Test {
 protected:
  void Insert(const std::string& id) {
    jobs::Job job{.id = id};
    job.create_time = absl::Now();
    ASSERT_TRUE(table_.Insert(job).ok());
  }
  std::vector<FeedEvent> Read(int64_t after, absl::Duration patience = absl::Seconds(20)) {
    return feed_.Read(after, SteadyNow() + patience);
  }

  isocenter::testing::FakeJobStore store_;
  jobs::JobTable table_{store_, nullptr};
  JobFeed feed_{table_};
};

TEST_F(JobFeedTest, TellsTheLastStateOfEachJob) {
  Insert("a");
  int64_t seen = Read(0).back().number;
  for (int frames = 1; frames <= 100; ++frames) {
    table_.Update("a", [&](jobs::Job& job) { job.progress.frames_received = frames; });
  }
  // Some changes are told together, and the last one always.
  int events = 0, frames = 0;
  while (frames < 100) {
    const auto read = Read(seen);
    ASSERT_FALSE(read.empty());
    for (const FeedEvent& event : read) {
      ++events;
      EXPECT_GT(event.number, seen);
      seen = event.number;
      frames = event.job->progress.frames_received;
    }
  }
  EXPECT_LT(events, 50);
  EXPECT_EQ(Read(0).size(), 1u) << "earlier states are of no use to anybody";
}

TEST_F(JobFeedTest, TellsOfRemovedJobs) {
  Insert("a");
  ASSERT_TRUE(table_.Transition("a", jobs::JobState::kCancelled).ok());
  ASSERT_TRUE(table_.Delete("a").ok());
  int64_t seen = 0;
  FeedEvent last;
  while (last.kind != FeedEvent::Kind::kJobRemoved) {
    const auto read = Read(seen);
    ASSERT_FALSE(read.empty());
    last = read.back();
    seen = last.number;
  }
  EXPECT_EQ(last.job_id, "a");
}

TEST_F(JobFeedTest, MemoryIsBounded) {
  for (size_t i = 0; i < JobFeed::kEventsKept + 10; ++i) Insert(absl::StrCat("job-", i));
  ASSERT_TRUE(isocenter::testing::Eventually(
      [&] { return feed_.newest() == static_cast<int64_t>(JobFeed::kEventsKept) + 10; }));
  EXPECT_EQ(Read(0).size(), JobFeed::kEventsKept);
  EXPECT_FALSE(feed_.Knows(0));
  EXPECT_TRUE(feed_.Knows(10));
  EXPECT_FALSE(feed_.Knows(feed_.newest() + 1));
}

TEST_F(JobFeedTest, NobodyWaitsForAStoppedFeed) {
  feed_.Stop();
  const absl::Time begin = absl::Now();
  EXPECT_TRUE(Read(0).empty());
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
}

TEST_F(JobFeedTest, CountsFramesPerSecond) {
  EXPECT_EQ(feed_.FramesPerSecond("a"), std::nullopt);
  Insert("a");
  const int64_t seen = Read(0).back().number;
  absl::SleepFor(absl::Milliseconds(300));
  table_.Update("a", [](jobs::Job& job) { job.progress.frames_received = 10; });
  ASSERT_FALSE(Read(seen).empty());
  const auto rate = feed_.FramesPerSecond("a");
  ASSERT_TRUE(rate.has_value());
  EXPECT_GT(*rate, 0);
  EXPECT_LT(*rate, 10 / 0.2);
  ASSERT_TRUE(table_.Transition("a", jobs::JobState::kReconstructing).ok());
  EXPECT_TRUE(isocenter::testing::Eventually([&] { return !feed_.FramesPerSecond("a"); }));
}

}  // namespace
}  // namespace isocenter::node
