// kill -9 at any moment of a job: nothing that was acknowledged is lost, and the volume is the
// same.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/job_client.h"
#include "tests/fault/campaign.h"
#include "tests/fault/daemon.h"
#include "tests/fault/metrics_page.h"
#include "tests/fault/restarts.h"
#include "tests/fault/scan_console.h"
#include "tests/fault/small_scan.h"
#include "tests/fault/spool_file.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::testing {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kMayStandStill = absl::Seconds(2);

class KillTest : public ::testing::Test {
 protected:
  void StartServer() {
    daemon_ = std::make_unique<Daemon>(
        directory_.path().string(),
        std::vector<std::string>{absl::StrCat("--grpc_address=127.0.0.1:", port_)});
    ASSERT_EQ(daemon_->grpc_port(), port_) << "isocenterd did not start";
  }
  fs::path spool() const { return directory_.path() / "spool"; }

  /// Waits for a moment of the job that chance chooses; the phases take turns.
  void AwaitMoment(const ScanConsole& console, int phase) {
    switch (phase % 4) {
      case 0:  // while it is admitted
        break;
      case 1: {  // while frames come
        const auto frames = static_cast<size_t>(chance_.Integer(0, kScanFrames - 1));
        ASSERT_TRUE(console.Await([=](const ScanConsole::Told& told) {
          return !told.job_id.empty() && told.acknowledged.size() >= frames;
        }));
        break;
      }
      case 2:  // while the last chunks are computed
        ASSERT_TRUE(console.Await([](const ScanConsole::Told& told) {
          return told.acknowledged.size() == kScanFrames ||
                 told.state >= v1::JOB_STATE_RECONSTRUCTING;
        }));
        break;
      default:  // while it is stored
        ASSERT_TRUE(console.Await(
            [](const ScanConsole::Told& told) { return told.state >= v1::JOB_STATE_EXPORTING; }));
    }
    absl::SleepFor(absl::Microseconds(chance_.Integer(0, 15'000)));
  }

  static std::string PhaseOf(const ScanConsole::Told& told) {
    if (told.ended) return "5 completed";
    if (told.job_id.empty()) return "1 admission";
    if (told.state == v1::JOB_STATE_RECONSTRUCTING) return "3 reconstructing";
    return told.state == v1::JOB_STATE_EXPORTING ? "4 exporting" : "2 receiving";
  }

  void KillOnce(int round) {
    ScanConsole console(port_, ScanHeader(absl::StrCat("kill-", round)));
    AwaitMoment(console, round);
    daemon_->Signal(SIGKILL);
    ASSERT_EQ(daemon_->Wait(), -SIGKILL);
    const ScanConsole::Told before = console.told();
    if (!before.job_id.empty()) ExpectInSpool(before);

    const absl::Time begin = absl::Now();
    StartServer();
    const absl::Time ready = absl::Now();
    ASSERT_TRUE(console.Await(
        [&](const ScanConsole::Told& told) { return told.contacts > before.contacts; }));
    const absl::Time going_on = absl::Now();
    ASSERT_TRUE(console.Await([](const ScanConsole::Told&) { return false; }));
    const ScanConsole::Told after = console.told();
    ASSERT_TRUE(after.ended->ok()) << *after.ended;
    restarts_.Add(PhaseOf(before), {.to_ready = ready - begin,
                                    .to_going_on = going_on - begin,
                                    .acknowledged = static_cast<int>(before.acknowledged.size())});

    const auto volume = VolumeOf(ChannelTo(port_), after.job_id);
    ASSERT_TRUE(volume.ok()) << volume.status();
    EXPECT_TRUE(SameBits(*volume, UndisturbedVolume())) << "another volume after the restart";
    const auto received = Metric(daemon_->metrics_port(), "isocenter_received_frames_total");
    EXPECT_LE(received.value_or(1e9), kScanFrames - static_cast<int>(before.acknowledged.size()))
        << "frames were sent again that had been acknowledged";
  }

  void ExpectInSpool(const ScanConsole::Told& told) {
    const fs::path file = SpoolFileOf(spool(), told.job_id);
    ASSERT_FALSE(file.empty()) << "no spool file of job " << told.job_id;
    const std::set<int> intact = SpoolFile(file).IntactFrames();
    EXPECT_TRUE(std::ranges::includes(intact, told.acknowledged))
        << told.acknowledged.size() << " frames were acknowledged, " << intact.size()
        << " are in the spool";
  }

  /// One job for each scan, with one stored volume of its own, and nothing half-done beside them.
  void ExpectOneSeriesEach(int jobs) {
    const auto all = client::JobClient(ChannelTo(port_)).List({}, 10 * jobs);
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_EQ(static_cast<int>(all->size()), jobs);
    std::set<std::string> series;
    for (const v1::Job& job : *all) {
      EXPECT_EQ(job.state(), v1::JOB_STATE_COMPLETED) << job.job_id() << job.error_message();
      series.insert(job.result().series_instance_uid());
    }
    EXPECT_EQ(static_cast<int>(series.size()), jobs);
    int results = 0;
    for (const auto& result : fs::directory_iterator(directory_.path() / "results")) {
      ++results;
      int files = 0;
      for (const auto& file : fs::directory_iterator(result.path() / "dicom")) {
        files += file.is_regular_file() ? 1 : 0;
      }
      EXPECT_EQ(files, kScanSize + 1) << result.path();  // slices and the multi-frame object
    }
    EXPECT_EQ(results, jobs);
    EXPECT_TRUE(fs::is_empty(directory_.path() / "staging"));
    // A volume that was renamed but not indexed when the process ended is kept, whole; its job has
    // stored it again.
    std::error_code none;
    for (const auto& aside : fs::directory_iterator(directory_.path() / "damaged", none)) {
      EXPECT_TRUE(fs::exists(aside.path() / "volume.f32")) << aside.path();
    }
  }

  TemporaryDirectory directory_;
  const int port_ = PortForRestarts();
  std::unique_ptr<Daemon> daemon_;
  Chance chance_;
  RestartTable restarts_;
};

TEST_F(KillTest, AtAnyMomentNothingAcknowledgedIsLost) {
  ASSERT_FALSE(UndisturbedVolume().empty());
  StartServer();
  const int rounds = Rounds(12, 200);
  int done = 0;
  while (done < rounds && !HasFailure()) KillOnce(done++);
  restarts_.Print();
  ASSERT_FALSE(HasFailure()) << "in round " << done;
  ExpectOneSeriesEach(done);
  if (!ISOCENTER_SANITIZED) {
    // Beside other tests one round may have to wait for a core; in the campaign the machine is its.
    EXPECT_LT(IsLongCampaign() ? restarts_.worst_to_going_on() : restarts_.median_to_going_on(),
              kMayStandStill);
  }
}

}  // namespace
}  // namespace isocenter::testing
