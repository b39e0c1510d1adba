// Commands that Ctrl-C, SIGTERM or the end of their terminal ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "tests/client/command.h"
#include "tests/client/fake_server.h"
#include "tests/client/small_bundle.h"
#include "tests/client/test_files.h"

namespace isocenter::client_test {
namespace {

using testing::HasSubstr;

TEST(Cli, CtrlCCancelsTheJob) {
  TemporaryDirectory directory;
  FakeServer server;
  WriteBundle(directory / "b", 1000);
  Command command({"stream", directory / "b", "--server", server.address(), "--fps", "10"});
  EXPECT_TRUE(server.WaitForFrames(1));
  command.Signal(SIGINT);
  EXPECT_TRUE(server.WaitForCancel("job-1"));
  const Outcome outcome = command.Wait();
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_THAT(outcome.err, HasSubstr("job job-1 was cancelled"));
  EXPECT_THAT(outcome.err, testing::Not(HasSubstr("tried again")));
  EXPECT_LT(server.frames_read(), 1000);
}

TEST(Cli, AJobThatSomebodyElseCancelsIsNotSaidToBeTriedAgain) {
  TemporaryDirectory directory;
  Behaviour behaviour;
  behaviour.break_at_frames = {1};
  behaviour.break_status = {grpc::StatusCode::CANCELLED, "the job was cancelled on request"};
  behaviour.refuse_resumes = {
      {grpc::StatusCode::FAILED_PRECONDITION, "job job-1 has ended already: it is cancelled"}};
  FakeServer server(behaviour);
  WriteBundle(directory / "b", 4);
  const Outcome outcome = RunCommand({"stream", directory / "b", "--server", server.address()});
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("cancelled"));
  EXPECT_THAT(outcome.err, testing::Not(HasSubstr("tried again")));
}

TEST(Cli, CtrlCEndsAnOpening) {
  TemporaryDirectory directory;
  absl::Notification asked;
  Behaviour behaviour;
  behaviour.never_answer = true;
  behaviour.before_answer = [&] { asked.Notify(); };
  FakeServer server(behaviour);
  WriteBundle(directory / "b", 2);
  Command command({"stream", directory / "b", "--server", server.address()});
  asked.WaitForNotification();
  const absl::Time begin = absl::Now();
  command.Signal(SIGINT);
  const Outcome outcome = command.Wait();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(15));  // and not the 30 s of an admission
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_THAT(outcome.err, HasSubstr("stopped before the server had admitted the acquisition"));
}

TEST(Cli, CtrlCInAnOpeningCancelsTheJobThatItBegan) {
  TemporaryDirectory directory;
  absl::Notification asked, interrupted;
  Behaviour behaviour;
  behaviour.before_answer = [&] {
    asked.Notify();
    interrupted.WaitForNotification();
  };
  FakeServer server(behaviour);
  WriteBundle(directory / "b", 1000);
  Command command({"stream", directory / "b", "--server", server.address(), "--fps", "1"});
  asked.WaitForNotification();
  command.Signal(SIGINT);
  interrupted.Notify();
  EXPECT_TRUE(server.WaitForCancel("job-1"));
  EXPECT_THAT(command.Wait().err, HasSubstr("job job-1 was cancelled"));
}

// Each at its work; what is killed by the signal itself has no exit code.
TEST(Cli, CtrlCEndsEveryCommandWithASentence) {
  TemporaryDirectory directory;
  const std::string bundle = directory / "b", volume = directory / "v.mha";
  ASSERT_EQ(RunCommand({"simulate", "--phantom", "cylinder", "--out", bundle, "--frames", "400",
                        "--arc-deg", "360", "--detector", "64x64", "--pitch-mm", "5"})
                .exit_code,
            0);
  for (const auto& [signal, name] :
       {std::pair(SIGINT, "(SIGINT)"), {SIGTERM, "(SIGTERM)"}, {SIGHUP, "(SIGHUP)"}}) {
    Command command({"reconstruct", bundle, "--out", volume, "--algorithm", "sirt", "--iterations",
                     "1000", "--grid", "64x64x64", "--voxel-mm", "4"});
    EXPECT_TRUE(command.AwaitOutput("iteration   1"));
    command.Signal(signal);
    const Outcome outcome = command.Wait();
    EXPECT_EQ(outcome.exit_code, 130);
    EXPECT_EQ(outcome.err, absl::StrCat("isocenter: interrupted ", name, "\n"));
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    EXPECT_EQ(entry.path().filename(), "b");
  }
}

TEST(Cli, CtrlCSaysThatAJobGoesOn) {
  FakeServer server;
  Command watch({"watch", "endless", "--server", server.address()});
  EXPECT_TRUE(watch.AwaitOutput("receiving"));
  watch.Signal(SIGINT);
  const Outcome outcome = watch.Wait();
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_EQ(
      outcome.err,
      "isocenter: interrupted (SIGINT); job endless goes on; `isocenter watch endless` follows "
      "it\n");
}

TEST(Cli, TheEndOfATerminalCancelsTheJob) {
  TemporaryDirectory directory;
  FakeServer server;
  WriteBundle(directory / "b", 1000);
  Command command({"stream", directory / "b", "--server", server.address(), "--fps", "10"});
  EXPECT_TRUE(server.WaitForFrames(1));
  command.Signal(SIGHUP);
  EXPECT_TRUE(server.WaitForCancel("job-1"));
  EXPECT_EQ(command.Wait().exit_code, 130);
}

}  // namespace
}  // namespace isocenter::client_test
