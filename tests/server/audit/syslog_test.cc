// Records to a repository over TLS, and what waits while it is away.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "server/audit/trail.h"
#include "tests/server/archive/temporary_directory.h"
#include "tests/server/audit/audit_events.h"
#include "tests/server/test_certificates.h"

namespace isocenter::audit {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

/// openssl's test server on the loopback interface, as the repository.
class Repository {
 public:
  Repository(const TestCertificates& files, const std::string& certificate, const fs::path& output)
      : output_(output) {
    // It ends when its standard input does.
    int input[2];
    EXPECT_EQ(pipe2(input, O_CLOEXEC), 0);
    input_ = input[1];
    child_ = fork();
    if (child_ != 0) {
      close(input[0]);
      return;
    }
    const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(out, 1);
    dup2(input[0], 0);
    dup2(open("/dev/null", O_RDWR), 2);
    execlp("openssl", "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert",
           files.Pem(certificate).c_str(), "-key", files.Key(certificate).c_str(), nullptr);
    _exit(127);
  }
  ~Repository() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    close(input_);
  }
  /// The port that it says it listens on; 0 when it does not come.
  int port() const {
    for (int i = 0; i < 2000; ++i) {
      int port = 0;
      const std::string text = Content(output_);
      const size_t at = text.find("ACCEPT 127.0.0.1:");
      if (at != std::string::npos &&
          sscanf(text.c_str() + at, "ACCEPT 127.0.0.1:%d\n", &port) == 1) {
        return port;
      }
      absl::SleepFor(absl::Milliseconds(50));
    }
    return 0;
  }

 private:
  const fs::path output_;
  int input_ = -1;
  pid_t child_ = -1;
};

class SyslogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    files_.MakeAuthority("ca");
    files_.Make("repository", "ca");
  }
  SyslogOptions Options(const std::string& authority, int port) const {
    return {.host = "127.0.0.1", .port = port, .ca_file = files_.Pem(authority)};
  }
  /// That the repository has written in full.
  int Messages() const {
    const std::string text = Content(output_);
    int messages = 0;
    for (size_t at = 0; (at = text.find("</AuditMessage>", at)) != std::string::npos; ++at)
      ++messages;
    return messages;
  }

  TemporaryDirectory directory_;
  const TestCertificates files_{directory_.path()};
  const fs::path output_ = directory_.path() / "received";
};

TEST_F(SyslogTest, MessagesArriveOverTls) {
  const Repository repository(files_, "repository", output_);
  const int port = repository.port();
  ASSERT_NE(port, 0);
  {
    auto trail = Trail::Open({.syslog = Options("ca", port)});
    ASSERT_TRUE(trail.ok()) << trail.status();
    for (int i = 0; i < 3; ++i) (*trail)->Record(TestEvent());
    for (int i = 0; i < 2000 && Messages() == 0; ++i) absl::SleepFor(absl::Milliseconds(50));
  }  // what waits is sent before the end, and then read by the repository
  for (int i = 0; i < 2000 && Messages() < 3; ++i) absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(Messages(), 3) << Content(output_);
}

TEST_F(SyslogTest, RepositoryOfAnotherAuthorityGetsNothing) {
  files_.MakeAuthority("other");
  const Repository repository(files_, "repository", output_);
  const int port = repository.port();
  ASSERT_NE(port, 0);
  {
    auto trail = Trail::Open({.syslog = Options("other", port)});
    ASSERT_TRUE(trail.ok()) << trail.status();
    (*trail)->Record(TestEvent());
  }  // what waits is tried once at least
  EXPECT_THAT(Content(output_), Not(HasSubstr("AuditMessage")));
  // The repository serves one connection after the other: what had come before would stand there.
  {
    auto trail = Trail::Open({.syslog = Options("ca", port)});
    ASSERT_TRUE(trail.ok()) << trail.status();
    (*trail)->Record(TestEvent());
    for (int i = 0; i < 2000 && Messages() == 0; ++i) absl::SleepFor(absl::Milliseconds(50));
  }
  EXPECT_EQ(Messages(), 1) << Content(output_);
}

TEST_F(SyslogTest, WhatCouldNotBeSentIsSentByALaterRun) {
  const std::string path = (directory_.path() / "audit.jsonl").string();
  const FileOptions file{.path = path};
  {
    const auto trail = Trail::Open({.file = file, .syslog = Options("ca", 1)});  // nobody is there
    ASSERT_TRUE(trail.ok()) << trail.status();
    for (int i = 0; i < 3; ++i) (*trail)->Record({.action = Action::kServiceStart});
    for (int i = 0; i < 2000 && (*trail)->State().waiting_to_send < 3; ++i) {
      absl::SleepFor(absl::Milliseconds(10));
    }
    EXPECT_EQ((*trail)->State().waiting_to_send, 3);
  }
  const Repository repository(files_, "repository", output_);
  const auto trail = Trail::Open({.file = file, .syslog = Options("ca", repository.port())});
  ASSERT_TRUE(trail.ok()) << trail.status();
  for (int i = 0; i < 2000 && Messages() < 3; ++i) absl::SleepFor(absl::Milliseconds(50));
  EXPECT_THAT(Content(output_), HasSubstr("[meta sequenceId=\"3\"]"));
  for (int i = 0; i < 2000 && Content(path + ".sent") != "3\n"; ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(Content(path + ".sent"), "3\n");
}

TEST_F(SyslogTest, AuthorityThatCannotBeRead) {
  const auto trail =
      Trail::Open({.syslog = SyslogOptions{.host = "127.0.0.1", .ca_file = "/nowhere/ca.pem"}});
  EXPECT_THAT(std::string(trail.status().message()), HasSubstr("/nowhere/ca.pem"));
}

}  // namespace
}  // namespace isocenter::audit
