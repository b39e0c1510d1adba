// The whole trail: what is recorded is in the file, whatever comes beside it.
#include "server/audit/trail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "server/audit/outbox.h"
#include "server/audit/verification.h"
#include "tests/server/archive/temporary_directory.h"
#include "tests/server/audit/audit_events.h"

namespace isocenter::audit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class TrailTest : public ::testing::Test {
 protected:
  std::unique_ptr<Trail> Open(uint64_t max_bytes = 1 << 16, int max_files = 3) {
    auto trail = Trail::Open(
        {.file = FileOptions{.path = path(), .max_bytes = max_bytes, .max_files = max_files}});
    EXPECT_TRUE(trail.ok()) << trail.status();
    return *std::move(trail);
  }
  std::string path() const { return (directory_.path() / "audit.jsonl").string(); }
  Event Download(int number) const {
    return {.action = Action::kDownload,
            .actor = {.name = "room-1", .is_known = true},
            .service = "grpc",
            .patient_ids = {absl::StrCat("P", number)},
            .job_ids = {"a"}};
  }
  Event Refusal(const std::string& job_id) const {
    return {.action = Action::kDelete,
            .outcome = Outcome::kRefused,
            .actor = {.address = "10.0.0.9:4711"},
            .service = "grpc",
            .job_ids = {job_id}};
  }
  /// Patients whose downloads are recorded in any of the files.
  int Downloads() const {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      if (entry.path().extension() == ".lock") continue;
      for (const auto& record : Records(entry.path())) found += record.at("action") == "download";
    }
    return found;
  }

  TemporaryDirectory directory_;
};

TEST_F(TrailTest, AStrangerErasesNothing) {
  {
    const auto trail = Open();
    for (int i = 0; i < 20; ++i) trail->Record(Download(i));
    std::vector<std::thread> strangers;
    for (int thread = 0; thread < 4; ++thread) {
      strangers.emplace_back([&, thread] {
        for (int i = 0; i < 5000; ++i) {
          trail->Record(Refusal(absl::StrCat(std::string(10000, 'x'), thread, "-", i)));
        }
      });
    }
    for (int i = 20; i < 40; ++i) {
      trail->Record(Download(i));
      absl::SleepFor(absl::Milliseconds(5));
    }
    for (std::thread& stranger : strangers) stranger.join();
    trail->Record(Download(40));
  }
  EXPECT_EQ(Downloads(), 41);
  EXPECT_TRUE(Verify(directory_.path().string()).ok());
}

TEST_F(TrailTest, CountsAreWrittenAtTheEnd) {
  {
    const auto trail = Open();
    for (int i = 0; i < 10; ++i) trail->Record(Refusal("a"));
  }
  const auto records = Records(path());
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_FALSE(records[0].contains("count"));
  EXPECT_EQ(records[1].at("count"), 9);
  EXPECT_EQ(records[1].at("since"), records[0].at("time"));
}

TEST_F(TrailTest, WhatCannotBeWrittenIsCountedAndToldOnce) {
  const auto trail = Open(3000, 1);
  for (int i = 0; i < 100; ++i) trail->Record(Download(i));
  const auto lost = [&] {
    const TrailState state = trail->State();
    return state.is_failing ? state.lost : 0;
  };
  for (int i = 0; i < 2000 && lost() == 0; ++i) absl::SleepFor(absl::Milliseconds(5));
  absl::SleepFor(absl::Milliseconds(1100));  // files are looked for once a second
  const TrailState state = trail->State();
  EXPECT_TRUE(state.is_failing);
  EXPECT_GT(state.lost, 50);
  EXPECT_LE(state.fill.used_bytes, state.fill.limit_bytes);
  std::filesystem::remove(ClosedFiles(path())[0].path);
  trail->Record(Download(100));
  for (int i = 0; i < 2000 && trail->State().is_failing; ++i) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_FALSE(trail->State().is_failing);
  const auto records = Records(path());
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[0].at("action"), "trail");
  EXPECT_EQ(records[0].at("lost"), state.lost);
  EXPECT_THAT(records[1].at("patient_ids"), ElementsAre("P100"));
}

TEST_F(TrailTest, WhoRecordsWaitsForNoDisk) {
  // Nobody reads from it: the writing thread stands still.
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  const int reader = open(path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  auto trail = Open(uint64_t{1} << 40);
  absl::Duration longest;
  for (int i = 0; i < 20000; ++i) {
    const absl::Time begin = absl::Now();
    trail->Record(Download(i));
    longest = std::max(longest, absl::Now() - begin);
  }
  EXPECT_LT(longest, absl::Seconds(1));
  std::atomic<bool> ended = false;
  std::thread drain([&] {
    char taken[1 << 16];
    while (!ended) (void)!read(reader, taken, sizeof taken);
  });
  trail.reset();
  ended = true;
  drain.join();
  close(reader);
}

TEST_F(TrailTest, OnlyAnErrorNamesTheFile) {
  const auto trail = Trail::Open({.file = FileOptions{.path = "/dev/null/audit.jsonl"}});
  EXPECT_THAT(std::string(trail.status().message()),
              HasSubstr("audit.file is /dev/null/audit.jsonl; "));
}

TEST(MemoryOutbox, IsBoundedInBytesAndTellsWhatItGaveUpOnce) {
  MemoryOutbox outbox(100 << 10);
  for (int i = 1; i <= 2000; ++i) outbox.Add({i, TestEvent()});
  EXPECT_LT(outbox.waiting(), 200);
  EXPECT_GT(outbox.waiting(), 20);
  const int64_t given_up = outbox.given_up();
  EXPECT_EQ(given_up + outbox.waiting(), 2000);
  auto oldest = outbox.Oldest();
  ASSERT_TRUE(oldest.has_value());
  EXPECT_EQ(oldest->event.action, Action::kTrail);
  EXPECT_EQ(oldest->event.lost, given_up);
  outbox.MarkSent();
  for (int64_t number = given_up + 1; number <= 2000; ++number) {
    oldest = outbox.Oldest();
    ASSERT_TRUE(oldest.has_value());
    EXPECT_EQ(oldest->number, number);
    EXPECT_EQ(oldest->event.lost, 0);
    outbox.MarkSent();
  }
  EXPECT_FALSE(outbox.Oldest().has_value());
}

TEST(FileOutbox, GoesOnWhereAnotherRunHasEnded) {
  TemporaryDirectory directory;
  const std::string path = (directory.path() / "audit.jsonl").string();
  auto file = *AuditFile::Open({.path = path, .max_bytes = 2500});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(file.Write(TestEvent()).ok());
  {
    FileOutbox outbox(path, 20);
    EXPECT_EQ(outbox.waiting(), 20);
    for (int64_t number = 1; number <= 7; ++number) {
      EXPECT_EQ(outbox.Oldest()->number, number);
      outbox.MarkSent();
    }
  }
  ASSERT_TRUE(file.Write(TestEvent()).ok());
  FileOutbox outbox(path, 20);
  EXPECT_EQ(outbox.exported(), 7);
  EXPECT_EQ(outbox.waiting(), 13);
  outbox.Add({21, {}});
  outbox.Add({0, Event{.action = Action::kDelete}});  // that no file has taken
  for (int64_t number = 8; number <= 21; ++number) {
    EXPECT_EQ(outbox.Oldest()->number, number);
    outbox.MarkSent();
  }
  EXPECT_EQ(outbox.Oldest()->event.action, Action::kDelete);
  outbox.MarkSent();
  EXPECT_FALSE(outbox.Oldest().has_value());
  EXPECT_EQ(outbox.exported(), 21);
}

}  // namespace
}  // namespace isocenter::audit
