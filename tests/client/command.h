// Runs of the `isocenter` binary.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/client/test_files.h"

extern char** environ;

namespace isocenter::client_test {

struct Outcome {
  int exit_code = -1;
  std::string out, err;
};

/// A run of the binary; output goes to files.
class Command {
 public:
  explicit Command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ISOCENTER_BINARY);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions, 1, (directory_ / "out").c_str(), flags, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, (directory_ / "err").c_str(), flags, 0600);
    EXPECT_EQ(posix_spawn(&pid_, ISOCENTER_BINARY, &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  /// Whether this stands on standard output within a generous time, while the command may go on.
  bool AwaitOutput(const std::string& text) const {
    for (int i = 0; i < 1000; ++i) {
      if (ReadBytes(directory_ / "out").find(text) != std::string::npos) return true;
      usleep(20'000);
    }
    return false;
  }
  void Signal(int signal) { kill(pid_, signal); }
  Outcome Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadBytes(directory_ / "out"),
            ReadBytes(directory_ / "err")};
  }

 private:
  TemporaryDirectory directory_;
  pid_t pid_ = 0;
};

inline Outcome RunCommand(std::vector<std::string> arguments) {
  return Command(std::move(arguments)).Wait();
}

}  // namespace isocenter::client_test
