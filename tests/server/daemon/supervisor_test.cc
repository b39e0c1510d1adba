#include "server/daemon/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace isocenter::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// What systemd listens on.
class Listener {
 public:
  Listener() : path_(absl::StrCat(::testing::TempDir(), "notify-", getpid())) {
    std::filesystem::remove(path_);
    file_ = socket(AF_UNIX, SOCK_DGRAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(file_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  ~Listener() {
    close(file_);
    std::filesystem::remove(path_);
  }
  const std::string& path() const { return path_; }
  /// The next datagram; empty when none comes in time.
  std::string Next(absl::Duration within = absl::Seconds(20)) const {
    const timeval timeout = absl::ToTimeval(within);
    setsockopt(file_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    char text[256];
    const ssize_t bytes = recv(file_, text, sizeof(text), 0);
    return bytes < 0 ? "" : std::string(text, bytes);
  }

 private:
  const std::string path_;
  int file_ = -1;
};

TEST(Supervisor, IsToldOfStartAndStop) {
  const Listener listener;
  const Supervisor supervisor(listener.path(), absl::InfiniteDuration(), [] {});
  supervisor.Ready("serves");
  EXPECT_EQ(listener.Next(), "READY=1\nSTATUS=serves\n");
  supervisor.Stopping("drains");
  EXPECT_THAT(listener.Next(), StartsWith("STOPPING=1\n"));
}

TEST(Supervisor, DoesNotWaitForOneThatDoesNotRead) {
  const Listener listener;
  absl::Status told;
  for (int i = 0; i < 10000 && told.ok(); ++i) {
    told = Notify(listener.path(), "STATUS=again", absl::Milliseconds(50));
  }
  EXPECT_EQ(told.code(), absl::StatusCode::kUnavailable) << told;
  EXPECT_EQ(listener.Next(), "STATUS=again");
}

TEST(Supervisor, ShowsLifeWhileTheProbeReturns) {
  const Listener listener;
  absl::Notification go_on;
  std::atomic<int> probes{0};
  {
    const Supervisor supervisor(listener.path(), absl::Milliseconds(30), [&] {
      if (++probes == 3) go_on.WaitForNotification();
    });
    EXPECT_EQ(listener.Next(), "WATCHDOG=1");
    EXPECT_EQ(listener.Next(), "WATCHDOG=1");
    EXPECT_EQ(listener.Next(absl::Milliseconds(300)), "") << "it hangs, and says that it lives";
    go_on.Notify();
    EXPECT_EQ(listener.Next(), "WATCHDOG=1");
  }
  while (!listener.Next(absl::Milliseconds(50)).empty()) {
  }
  EXPECT_EQ(listener.Next(absl::Milliseconds(100)), "") << "it has ended";
}

TEST(Supervisor, WithoutOneNothingHappens) {
  const Supervisor supervisor("", absl::Milliseconds(1), [] { FAIL() << "nobody asks"; });
  supervisor.Ready("serves");
  EXPECT_TRUE(Notify("", "READY=1", absl::Seconds(1)).ok());
}

TEST(Supervisor, SaysWhyItCannotBeTold) {
  EXPECT_EQ(Notify("relative", "READY=1", absl::Seconds(1)).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Notify("/" + std::string(200, 'x'), "READY=1", absl::Seconds(1)).code(),
            absl::StatusCode::kInvalidArgument);
  const absl::Status gone = Notify("/nowhere/notify", "READY=1", absl::Seconds(1));
  EXPECT_EQ(gone.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(gone.message()), HasSubstr("/nowhere/notify"));
}

TEST(Supervisor, ReadsTheWatchdogsInterval) {
  const std::string own = absl::StrCat(getpid());
  EXPECT_EQ(WatchdogInterval("30000000", nullptr), absl::Seconds(30));
  EXPECT_EQ(WatchdogInterval("30000000", own.c_str()), absl::Seconds(30));
  EXPECT_EQ(WatchdogInterval("30000000", "1"), absl::InfiniteDuration());
  for (const char* none : {static_cast<const char*>(nullptr), "", "0", "-1", "x"}) {
    EXPECT_EQ(WatchdogInterval(none, nullptr), absl::InfiniteDuration());
  }
}

}  // namespace
}  // namespace isocenter::daemon
