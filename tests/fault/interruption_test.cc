// The server ends by itself in the middle of a job: it is told to, or its only device fails. The
// console waits, and gets the volume that it would have got.

#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/fault/campaign.h"
#include "tests/fault/daemon.h"
#include "tests/fault/metrics_page.h"
#include "tests/fault/scan_console.h"
#include "tests/fault/small_scan.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::testing {
namespace {

constexpr int kExitDeviceLost = 3;

class InterruptionTest : public ::testing::Test {
 protected:
  void StartServer(std::vector<std::string> flags = {}) {
    flags.push_back(absl::StrCat("--grpc_address=127.0.0.1:", port_));
    daemon_ = std::make_unique<Daemon>(directory_.path().string(), flags);
    ASSERT_EQ(daemon_->grpc_port(), port_) << "isocenterd did not start";
  }

  /// After the server has ended.
  void ExpectTheVolumeAfterARestart(const ScanConsole& console) {
    const ScanConsole::Told before = console.told();
    ASSERT_FALSE(before.ended) << *before.ended;
    StartServer();
    ASSERT_TRUE(console.Await([](const ScanConsole::Told&) { return false; }));
    const ScanConsole::Told after = console.told();
    ASSERT_TRUE(after.ended->ok()) << *after.ended;
    EXPECT_EQ(after.job_id, before.job_id);
    const auto volume = VolumeOf(ChannelTo(port_), after.job_id);
    ASSERT_TRUE(volume.ok()) << volume.status();
    EXPECT_TRUE(SameBits(*volume, UndisturbedVolume()));
    EXPECT_LE(Metric(daemon_->metrics_port(), "isocenter_received_frames_total").value_or(1e9),
              kScanFrames - static_cast<int>(before.acknowledged.size()));
  }

  TemporaryDirectory directory_;
  const int port_ = PortForRestarts();
  std::unique_ptr<Daemon> daemon_;
  Chance chance_;
};

TEST_F(InterruptionTest, AJobThatOutlastsTheDrainIsSuspended) {
  StartServer({"--drain_seconds=0.3"});
  const int frames = static_cast<int>(chance_.Integer(1, kScanFrames - 1));
  ScanConsole console(port_, ScanHeader("drain"), {.stop_before = frames});
  ASSERT_TRUE(console.Await([frames](const ScanConsole::Told& told) {
    return static_cast<int>(told.acknowledged.size()) == frames;
  }));
  const absl::Time begin = absl::Now();
  daemon_->Signal(SIGTERM);
  EXPECT_EQ(daemon_->Wait(), 0);
  // Drain, then up to 5 s to clean up, which nothing should need to its end.
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
  console.Continue();
  ExpectTheVolumeAfterARestart(console);
}

TEST_F(InterruptionTest, AJobThatEndsWithinTheDrainIsCompleted) {
  StartServer();
  ScanConsole console(port_, ScanHeader("drain"));
  ASSERT_TRUE(
      console.Await([](const ScanConsole::Told& told) { return told.acknowledged.size() > 20; }));
  daemon_->Signal(SIGTERM);
  EXPECT_EQ(daemon_->Wait(), 0);
  ASSERT_TRUE(console.Await([](const ScanConsole::Told&) { return false; }));
  EXPECT_TRUE(console.told().ended->ok()) << *console.told().ended;
  EXPECT_EQ(console.told().contacts, 1);
}

// The process cannot cure a lost device; whoever supervises it can, by starting it again.
TEST_F(InterruptionTest, TheLastDeviceIsLost) {
  for (const int chunks : {0, 5}) {
    StartServer({absl::StrCat("--fault=cpu0@", chunks), "--backend=cpu"});
    ScanConsole console(port_, ScanHeader(absl::StrCat("device-", chunks)));
    EXPECT_EQ(daemon_->Wait(), kExitDeviceLost) << chunks << " chunks";
    const double lost = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
    ExpectTheVolumeAfterARestart(console);
    // Only the next process has the time to tell whoever watches.
    EXPECT_NEAR(Metric(daemon_->metrics_port(), "isocenter_no_device_time_seconds").value_or(0),
                lost, 60);
    daemon_->Signal(SIGTERM);
    EXPECT_EQ(daemon_->Wait(), 0);
  }
}

}  // namespace
}  // namespace isocenter::testing
