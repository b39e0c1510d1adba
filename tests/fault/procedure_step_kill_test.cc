// kill -9 between the beginning and the end of a performed procedure step: the information system
// is told the end after the restart, once, and of the same step.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/fault/campaign.h"
#include "tests/fault/daemon.h"
#include "tests/fault/scan_console.h"
#include "tests/fault/small_scan.h"
#include "tests/server/dicom/fake_ris.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::testing {
namespace {

using dicom::FakeRis;
using ::testing::SizeIs;

class ProcedureStepKillTest : public ::testing::Test {
 protected:
  void SetUp() override { StartServer(); }
  /// `reconnect_seconds`: after which a job whose console does not come back is given up.
  void StartServer(int reconnect_seconds = 120) {
    std::ofstream(config_) << absl::StrCat(
        "dicom_node { peer { ae_title: 'RIS' host: '127.0.0.1' port: ", ris_.peer().port,
        " } mpps { peer: 'RIS' } } limits { reconnect_seconds: ", reconnect_seconds, " }");
    daemon_ = std::make_unique<Daemon>(
        (directory_.path() / "archive").string(),
        std::vector<std::string>{absl::StrCat("--config=", config_.string()),
                                 absl::StrCat("--grpc_address=127.0.0.1:", port_)});
    ASSERT_EQ(daemon_->grpc_port(), port_) << "isocenterd did not start";
  }
  void KillServer() {
    daemon_->Signal(SIGKILL);
    ASSERT_EQ(daemon_->Wait(), -SIGKILL);
  }
  /// The messages of all steps, once there are so many.
  std::vector<FakeRis::StepMessage> AwaitMessages(size_t count) {
    const absl::Time give_up = absl::Now() + absl::Seconds(120);
    while (ris_.messages().size() < count && absl::Now() < give_up) {
      absl::SleepFor(absl::Milliseconds(2));
    }
    return ris_.messages();
  }
  /// That the messages since `first` are of one step that begins and then ends so, with nothing
  /// lost or told twice but a beginning whose answer the kill has cut off.
  void ExpectOneStep(size_t first, const std::string& end) {
    const absl::Time give_up = absl::Now() + absl::Seconds(120);
    std::vector<FakeRis::StepMessage> messages = AwaitMessages(first + 2);
    while (messages.back().status != end && absl::Now() < give_up) {
      messages = AwaitMessages(messages.size() + 1);
    }
    absl::SleepFor(absl::Milliseconds(300));  // nothing more comes
    messages = ris_.messages();
    ASSERT_GE(messages.size(), first + 2);
    EXPECT_LE(messages.size(), first + 3);
    EXPECT_TRUE(messages[first].creates);
    EXPECT_EQ(messages.back().status, end);
    int ends = 0;
    for (size_t i = first; i < messages.size(); ++i) {
      EXPECT_EQ(messages[i].uid, messages[first].uid);
      ends += messages[i].creates ? 0 : 1;
    }
    EXPECT_EQ(ends, 1);
  }

  TemporaryDirectory directory_;
  FakeRis ris_;
  const int port_ = PortForRestarts();
  const std::filesystem::path config_ = directory_.path() / "config";
  std::unique_ptr<Daemon> daemon_;
  Chance chance_;
};

TEST_F(ProcedureStepKillTest, AnAcquisitionThatGoesOnCompletesItsStep) {
  for (int round = 0; round < Rounds(3, 40) && !HasFailure(); ++round) {
    const size_t first = ris_.messages().size();
    // The frame at which the console waits for the kill.
    const int frame = static_cast<int>(chance_.Integer(1, kScanFrames - 1));
    ScanConsole console(port_, ScanHeader(absl::StrCat("step-", round)), {.stop_before = frame});
    ASSERT_THAT(AwaitMessages(first + 1), SizeIs(first + 1));
    absl::SleepFor(absl::Microseconds(chance_.Integer(0, 20'000)));
    ASSERT_NO_FATAL_FAILURE(KillServer());
    ASSERT_NO_FATAL_FAILURE(StartServer());
    console.Continue();
    ASSERT_TRUE(console.Await([](const ScanConsole::Told&) { return false; }));
    ASSERT_TRUE(console.told().ended->ok()) << *console.told().ended;
    ExpectOneStep(first, "COMPLETED");
  }
}

TEST_F(ProcedureStepKillTest, AnEndThatCouldNotBeToldIsToldAfterTheRestart) {
  for (int round = 0; round < Rounds(2, 20) && !HasFailure(); ++round) {
    const size_t first = ris_.messages().size();
    ScanConsole console(port_, ScanHeader(absl::StrCat("end-", round)),
                        {.stop_before = kScanFrames / 2});
    ASSERT_THAT(AwaitMessages(first + 1), SizeIs(first + 1));
    absl::SleepFor(absl::Milliseconds(50));  // its answer
    ris_.Stop();
    console.Continue();
    ASSERT_TRUE(console.Await([](const ScanConsole::Told&) { return false; }));
    ASSERT_TRUE(console.told().ended->ok()) << *console.told().ended;
    absl::SleepFor(absl::Microseconds(chance_.Integer(0, 20'000)));
    ASSERT_NO_FATAL_FAILURE(KillServer());
    ris_.Start();
    ASSERT_NO_FATAL_FAILURE(StartServer());
    ExpectOneStep(first, "COMPLETED");
  }
}

TEST_F(ProcedureStepKillTest, AnAcquisitionWhoseConsoleIsGoneIsDiscontinued) {
  {
    ScanConsole console(port_, ScanHeader(""), {.stop_before = kScanFrames / 2});
    ASSERT_THAT(AwaitMessages(1), SizeIs(1));
    ASSERT_NO_FATAL_FAILURE(KillServer());
  }
  ASSERT_NO_FATAL_FAILURE(StartServer(/*reconnect_seconds=*/2));
  ExpectOneStep(0, "DISCONTINUED");
}

}  // namespace
}  // namespace isocenter::testing
