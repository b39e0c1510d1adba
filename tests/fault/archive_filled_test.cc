// Another program fills the archive's disk at random moments, while several rooms scan, and gives
// it free again: every scan that was accepted ends in its volume.

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/job_client.h"
#include "tests/fault/campaign.h"
#include "tests/fault/daemon.h"
#include "tests/fault/metrics_page.h"
#include "tests/fault/scan_console.h"
#include "tests/fault/small_disk.h"
#include "tests/fault/small_scan.h"
#include "tests/server/fakes/eventually.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kRooms = 4;
constexpr int64_t kDiskBytes = 32 << 20;  // for three results or four, as they are bounded

class ArchiveFilledTest : public ::testing::Test {
 protected:
  void StartServer() {
    daemon_ = std::make_unique<Daemon>(
        archive_.string(),
        std::vector<std::string>{absl::StrCat("--spool=", (directory_.path() / "spool").string()),
                                 absl::StrCat("--grpc_address=127.0.0.1:", port_)});
    ASSERT_EQ(daemon_->grpc_port(), port_) << "isocenterd did not start";
  }

  std::vector<std::unique_ptr<ScanConsole>> BeginScans(int round) {
    std::vector<std::unique_ptr<ScanConsole>> rooms;
    for (int room = 0; room < kRooms; ++room) {
      v1::AcquisitionHeader header = ScanHeader(absl::StrCat("round-", round, "-", room));
      header.set_job_class(room % 2 == 0 ? v1::JOB_CLASS_LIVE : v1::JOB_CLASS_BATCH);
      rooms.push_back(std::make_unique<ScanConsole>(
          port_, header,
          ScanConsoleOptions{.between_frames = absl::Milliseconds(chance_.Integer(0, 6))}));
    }
    return rooms;
  }

  void FillForAWhile() {
    absl::SleepFor(absl::Milliseconds(chance_.Integer(0, 900)));
    FillDisk(archive_, chance_.OneIn(2) ? 0 : chance_.Integer(0, 4 << 20));
    absl::SleepFor(absl::Milliseconds(chance_.Integer(0, 900)));
    const double waiting =
        Metric(daemon_->metrics_port(), "isocenter_jobs_waiting_for_room").value_or(0);
    waited_ += static_cast<int>(waiting);
    if (chance_.OneIn(4)) {
      daemon_->Signal(chance_.OneIn(2) ? SIGTERM : SIGKILL);
      daemon_->Wait();
      ++restarts_;
      FreeDisk(archive_);
      StartServer();
    } else {
      FreeDisk(archive_);
    }
  }

  /// And what was stored is deleted.
  void ExpectTheVolumes(const std::vector<std::unique_ptr<ScanConsole>>& rooms) {
    const auto channel = ChannelTo(port_);
    for (const auto& room : rooms) {
      ASSERT_TRUE(room->Await([](const ScanConsole::Told&) { return false; })) << "still waits";
      const ScanConsole::Told told = room->told();
      if (told.job_id.empty()) {
        EXPECT_TRUE(absl::IsResourceExhausted(*told.ended)) << *told.ended;
        EXPECT_TRUE(told.acknowledged.empty());
        ++refused_;
        continue;
      }
      ++accepted_;
      ASSERT_TRUE(told.ended->ok()) << *told.ended;
      const auto volume = VolumeOf(channel, told.job_id);
      ASSERT_TRUE(volume.ok()) << volume.status();
      EXPECT_TRUE(SameBits(*volume, UndisturbedVolume()));
      const auto deleted = client::JobClient(channel).Delete(told.job_id);
      EXPECT_TRUE(deleted.ok()) << deleted;
    }
  }

  TemporaryDirectory directory_;
  const fs::path archive_ = directory_.path() / "archive";
  const int port_ = PortForRestarts();
  SmallDisks disks_;
  std::unique_ptr<Daemon> daemon_;
  Chance chance_;
  int accepted_ = 0, refused_ = 0, waited_ = 0, restarts_ = 0;
};

TEST_F(ArchiveFilledTest, EveryAcceptedScanEndsInItsVolume) {
  const std::string why_not = disks_.Make(archive_, kDiskBytes);
  if (!why_not.empty()) GTEST_SKIP() << "a small disk cannot be mounted here: " << why_not;
  ASSERT_FALSE(UndisturbedVolume().empty());
  StartServer();
  const int rounds = Rounds(4, 50);
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    const auto rooms = BeginScans(round);
    FillForAWhile();
    ASSERT_FALSE(HasFailure());
    ExpectTheVolumes(rooms);
    EXPECT_TRUE(Eventually([&] {
      return Metric(daemon_->metrics_port(),
                    "isocenter_disk_bytes{directory=\"archive\",kind=\"promised\"}") == 0.;
    })) << "room stays promised to nobody";
  }
  std::printf("%d rounds: %d scans accepted, %d refused; %d waited for room, %d restarts\n", rounds,
              accepted_, refused_, waited_, restarts_);
}

}  // namespace
}  // namespace isocenter::testing
