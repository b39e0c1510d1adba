// Disks without room: said before the exposure where it can be known, waited for where it cannot.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/job_client.h"
#include "tests/fault/daemon.h"
#include "tests/fault/metrics_page.h"
#include "tests/fault/scan_console.h"
#include "tests/fault/small_disk.h"
#include "tests/fault/small_scan.h"
#include "tests/fault/spool_file.h"
#include "tests/server/fakes/eventually.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class FullDiskTest : public ::testing::Test {
 protected:
  fs::path Path(const char* name) const { return directory_.path() / name; }

  /// A disk of `bytes`, or a skipped test.
  void MakeDisk(const fs::path& path, int64_t bytes) {
    const std::string why_not = disks_.Make(path, bytes);
    if (!why_not.empty()) GTEST_SKIP() << "a small disk cannot be mounted here: " << why_not;
  }

  void StartServer(const std::string& config = "", const char* spool = "spool") {
    const fs::path file = Path("site.txt");
    std::ofstream(file) << config;
    daemon_ = std::make_unique<Daemon>(
        Path("archive").string(),
        std::vector<std::string>{absl::StrCat("--config=", file.string()),
                                 absl::StrCat("--spool=", Path(spool).string()),
                                 absl::StrCat("--grpc_address=127.0.0.1:", port_)});
    ASSERT_EQ(daemon_->grpc_port(), port_) << "isocenterd did not start";
  }

  /// The refusal of a scan while another one has the room, which then completes.
  absl::Status RefusalBesideAnActiveJob() {
    ScanConsole first(port_, ScanHeader("first"), {.stop_before = kScanFrames / 2});
    EXPECT_TRUE(first.Await(
        [](const ScanConsole::Told& told) { return told.acknowledged.size() == kScanFrames / 2; }));
    absl::Status refusal;
    {
      ScanConsole second(port_, ScanHeader("second"));
      EXPECT_TRUE(second.Await([](const ScanConsole::Told&) { return false; }));
      EXPECT_TRUE(second.told().job_id.empty());
      refusal = second.told().ended.value_or(absl::OkStatus());
    }
    first.Continue();
    ExpectTheVolume(first);
    // What the first has left behind makes room, a moment after its result has been sent.
    EXPECT_TRUE(Eventually([&] {
      return Metric(daemon_->metrics_port(), "isocenter_spool_bytes{kind=\"reclaimable\"}") > 0.;
    }));
    ScanConsole third(port_, ScanHeader("third"));
    ExpectTheVolume(third);
    EXPECT_EQ(client::JobClient(ChannelTo(port_)).List({}, 10)->size(), 2u);
    return refusal;
  }

  void ExpectTheVolume(const ScanConsole& console) {
    ASSERT_TRUE(console.Await([](const ScanConsole::Told&) { return false; }));
    ASSERT_TRUE(console.told().ended->ok()) << *console.told().ended;
    const auto volume = VolumeOf(ChannelTo(port_), console.told().job_id);
    ASSERT_TRUE(volume.ok()) << volume.status();
    EXPECT_TRUE(SameBits(*volume, UndisturbedVolume()));
  }

  /// Streams a scan whose archive runs full in the middle, until its volume waits for room.
  std::unique_ptr<ScanConsole> WaitForRoom(int64_t free) {
    auto console = std::make_unique<ScanConsole>(
        port_, ScanHeader("full"), ScanConsoleOptions{.stop_before = kScanFrames / 2});
    EXPECT_TRUE(console->Await(
        [](const ScanConsole::Told& told) { return told.acknowledged.size() == kScanFrames / 2; }));
    FillDisk(Path("archive"), free);
    console->Continue();
    EXPECT_TRUE(Eventually(
        [&] { return Metric(daemon_->metrics_port(), "isocenter_jobs_waiting_for_room") == 1.; }));
    EXPECT_FALSE(console->told().ended) << *console->told().ended;
    return console;
  }

  TemporaryDirectory directory_;
  const int port_ = PortForRestarts();
  SmallDisks disks_;
  std::unique_ptr<Daemon> daemon_;
};

TEST_F(FullDiskTest, AScanBeyondTheSpoolsCapacityIsRefusedBeforeItsExposure) {
  ASSERT_FALSE(UndisturbedVolume().empty());
  StartServer("spool { capacity_bytes: 4194304 }");
  const absl::Status refusal = RefusalBesideAnActiveJob();
  EXPECT_TRUE(absl::IsResourceExhausted(refusal)) << refusal;
  EXPECT_THAT(std::string(refusal.message()), AllOf(ContainsRegex("[KM]iB are needed"),
                                                    HasSubstr("are used of 4 MiB that may be")));
}

TEST_F(FullDiskTest, AScanBeyondTheSpoolsDiskIsRefusedBeforeItsExposure) {
  ASSERT_NO_FATAL_FAILURE(MakeDisk(Path("spool"), 5 << 20));
  if (IsSkipped()) return;
  ASSERT_FALSE(UndisturbedVolume().empty());
  StartServer("spool { capacity_bytes: 1073741824 }");
  const absl::Status refusal = RefusalBesideAnActiveJob();
  EXPECT_TRUE(absl::IsResourceExhausted(refusal)) << refusal;
  EXPECT_THAT(std::string(refusal.message()), AllOf(ContainsRegex("[KM]iB are needed"),
                                                    ContainsRegex("[KM]iB are free on the disk")));
}

TEST_F(FullDiskTest, AScanBeyondWhatIsPromisedIsRefusedBeforeItsExposure) {
  // Room for one result of 7 to 9 MB, as it is bounded, and not for two.
  ASSERT_NO_FATAL_FAILURE(MakeDisk(Path("archive"), 24 << 20));
  if (IsSkipped()) return;
  StartServer();
  FillDisk(Path("archive"), 12 << 20);
  ScanConsole first(port_, ScanHeader("first"), {.stop_before = kScanFrames / 2});
  ASSERT_TRUE(first.Await([](const ScanConsole::Told& told) { return !told.job_id.empty(); }));
  ScanConsole second(port_, ScanHeader("second"));
  ASSERT_TRUE(second.Await([](const ScanConsole::Told&) { return false; }));
  EXPECT_TRUE(absl::IsResourceExhausted(*second.told().ended)) << *second.told().ended;
  EXPECT_THAT(
      std::string(second.told().ended->message()),
      AllOf(ContainsRegex("MiB are needed for the result"),
            ContainsRegex("MiB are promised to other jobs"), ContainsRegex("MiB are free")));
  EXPECT_TRUE(second.told().acknowledged.empty());
  first.Continue();
  ExpectTheVolume(first);
}

TEST_F(FullDiskTest, AVolumeThatFindsTheArchiveFullWaitsForRoom) {
  ASSERT_NO_FATAL_FAILURE(MakeDisk(Path("archive"), 24 << 20));
  if (IsSkipped()) return;
  ASSERT_FALSE(UndisturbedVolume().empty());
  StartServer();
  const auto console = WaitForRoom(0);
  // It is counted as waiting a moment before its warning is written; beside it is written what the
  // check of geometry finds, for which these pixels are of no object.
  EXPECT_TRUE(Eventually([&] {
    const auto job = client::JobClient(ChannelTo(port_)).Get(console->told().job_id);
    return job.ok() && std::ranges::any_of(job->warning(), [](const v1::JobWarning& warning) {
             return warning.kind() == v1::WARNING_KIND_ARCHIVE_FULL &&
                    absl::StrContains(warning.text(), "bytes");
           });
  }));
  // The next one is refused while it can still be made elsewhere.
  ScanConsole refused(port_, ScanHeader("refused"));
  ASSERT_TRUE(refused.Await([](const ScanConsole::Told&) { return false; }));
  EXPECT_TRUE(absl::IsResourceExhausted(*refused.told().ended)) << *refused.told().ended;

  FreeDisk(Path("archive"));
  ExpectTheVolume(*console);
}

TEST_F(FullDiskTest, AVolumeThatWaitsForRoomIsStoredAfterARestart) {
  ASSERT_NO_FATAL_FAILURE(MakeDisk(Path("archive"), 24 << 20));
  if (IsSkipped()) return;
  ASSERT_FALSE(UndisturbedVolume().empty());
  StartServer();
  const auto console = WaitForRoom(0);
  const std::string id = console->told().job_id;
  const absl::Time begin = absl::Now();
  daemon_->Signal(SIGTERM);
  EXPECT_EQ(daemon_->Wait(), 0);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20)) << "it waited for room";
  EXPECT_EQ(SpoolFile(SpoolFileOf(Path("spool"), id)).IntactFrames().size(), kScanFrames);
  // Enough for the index, and for nothing else.
  FreeDisk(Path("archive"));
  FillDisk(Path("archive"), 1 << 20);
  StartServer();
  EXPECT_TRUE(Eventually(
      [&] { return Metric(daemon_->metrics_port(), "isocenter_jobs_waiting_for_room") == 1.; }));
  FreeDisk(Path("archive"));
  ExpectTheVolume(*console);
}

TEST_F(FullDiskTest, JobsAreDeletedFromAFullArchiveAlsoAfterARestart) {
  // One disk for all, as sites have it that configure nothing.
  ASSERT_NO_FATAL_FAILURE(MakeDisk(Path("archive"), 96 << 20));
  if (IsSkipped()) return;
  ASSERT_FALSE(UndisturbedVolume().empty());
  StartServer("", "archive/spool");
  std::vector<std::string> ids;
  for (const char* patient : {"first", "second"}) {
    ScanConsole console(port_, ScanHeader(patient));
    ExpectTheVolume(console);
    ids.push_back(console.told().job_id);
  }
  FillDisk(Path("archive"), 0);
  const absl::Status deleted = client::JobClient(ChannelTo(port_)).Delete(ids[0]);
  EXPECT_TRUE(deleted.ok()) << deleted;

  daemon_->Signal(SIGTERM);
  EXPECT_EQ(daemon_->Wait(), 0);
  FillDisk(Path("archive"), 0);
  StartServer("", "archive/spool");
  ScanConsole refused(port_, ScanHeader("refused"));
  ASSERT_TRUE(refused.Await([](const ScanConsole::Told&) { return false; }));
  EXPECT_TRUE(absl::IsResourceExhausted(*refused.told().ended)) << *refused.told().ended;
  EXPECT_THAT(std::string(refused.told().ended->message()), HasSubstr("are free"));
  const absl::Status after = client::JobClient(ChannelTo(port_)).Delete(ids[1]);
  EXPECT_TRUE(after.ok()) << after;
  FreeDisk(Path("archive"));
  ScanConsole taken(port_, ScanHeader("taken"));
  ExpectTheVolume(taken);
}

}  // namespace
}  // namespace isocenter::testing
