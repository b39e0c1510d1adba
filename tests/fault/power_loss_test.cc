// The end of power, as far as it can be played: with --sync=always whatever was not acknowledged
// may be on the disk, in part or not at all.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/fault/campaign.h"
#include "tests/fault/daemon.h"
#include "tests/fault/metrics_page.h"
#include "tests/fault/scan_console.h"
#include "tests/fault/small_scan.h"
#include "tests/fault/spool_file.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::testing {
namespace {

class PowerLossTest : public ::testing::Test {
 protected:
  void StartServer() {
    daemon_ = std::make_unique<Daemon>(
        directory_.path().string(),
        std::vector<std::string>{absl::StrCat("--grpc_address=127.0.0.1:", port_),
                                 "--sync=always"});
    ASSERT_EQ(daemon_->grpc_port(), port_) << "isocenterd did not start";
  }

  /// Damages what the console was not told of; returns the frames that are left.
  std::set<int> Damage(const ScanConsole::Told& told) {
    SpoolFile file(SpoolFileOf(directory_.path() / "spool", told.job_id));
    const std::set<int> before = file.IntactFrames();
    EXPECT_TRUE(std::ranges::includes(before, told.acknowledged));
    for (int i = 0; i < kScanFrames; ++i) {
      if (!told.acknowledged.contains(i)) file.DamageSlot(i, chance_);
    }
    if (told.state < v1::JOB_STATE_RECONSTRUCTING) file.DamageFinish(chance_);
    const std::set<int> after = file.IntactFrames();
    EXPECT_TRUE(std::ranges::includes(after, told.acknowledged));
    lost_ += static_cast<int>(before.size() - after.size());
    return after;
  }

  void LosePowerOnce(int round) {
    ScanConsole console(port_, ScanHeader(absl::StrCat("power-", round)),
                        {.between_frames = absl::ZeroDuration()});
    const auto frames = static_cast<size_t>(chance_.Integer(0, kScanFrames - 1));
    ASSERT_TRUE(console.Await([=](const ScanConsole::Told& told) {
      return !told.job_id.empty() && told.acknowledged.size() >= frames;
    }));
    daemon_->Signal(SIGKILL);
    ASSERT_EQ(daemon_->Wait(), -SIGKILL);
    // What the server had told may still be on its way to the console.
    ASSERT_TRUE(
        console.Await([](const ScanConsole::Told& told) { return told.interruptions > 0; }));
    const ScanConsole::Told before = console.told();
    const std::set<int> left = Damage(before);

    StartServer();
    ASSERT_TRUE(console.Await([](const ScanConsole::Told&) { return false; }));
    const ScanConsole::Told after = console.told();
    ASSERT_TRUE(after.ended->ok()) << *after.ended;
    const auto volume = VolumeOf(ChannelTo(port_), after.job_id);
    ASSERT_TRUE(volume.ok()) << volume.status();
    EXPECT_TRUE(SameBits(*volume, UndisturbedVolume())) << "another volume after the damage";
    if (before.ended) return;  // nothing was left to send
    EXPECT_EQ(Metric(daemon_->metrics_port(), "isocenter_received_frames_total").value_or(-1),
              kScanFrames - static_cast<int>(left.size()))
        << "exactly the frames that are not intact are to be sent again";
  }

  TemporaryDirectory directory_;
  const int port_ = PortForRestarts();
  std::unique_ptr<Daemon> daemon_;
  Chance chance_;
  int lost_ = 0;
};

TEST_F(PowerLossTest, DamagedFramesAreSentAgain) {
  ASSERT_FALSE(UndisturbedVolume().empty());
  StartServer();
  const int rounds = Rounds(8, 100);
  int done = 0;
  while (done < rounds && !HasFailure()) LosePowerOnce(done++);
  std::printf("%d rounds; %d frames were written, not acknowledged, and lost by the damage\n", done,
              lost_);
  EXPECT_FALSE(HasFailure()) << "in round " << done;
}

}  // namespace
}  // namespace isocenter::testing
