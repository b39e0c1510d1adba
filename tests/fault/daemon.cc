#include "tests/fault/daemon.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace isocenter::testing {
namespace {

/// The defaults that `flags` do not set, then `flags`.
std::vector<std::string> Arguments(const std::string& archive,
                                   const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {ISOCENTERD, "--archive=" + archive};
  for (const auto& [name, otherwise] :
       {std::pair("--grpc_address=", "--grpc_address=127.0.0.1:0"),
        std::pair("--metrics_address=", "--metrics_address=127.0.0.1:0"),
        std::pair("--log_level=", "--log_level=err"), std::pair("--web_address=", "--no_web"),
        std::pair("--dicom_port=", "--no_dicom")}) {
    const bool is_set = std::ranges::any_of(
        flags, [name = name](const std::string& flag) { return absl::StartsWith(flag, name); });
    if (!is_set) arguments.emplace_back(otherwise);
  }
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return arguments;
}

/// Whether the port is now this process's as long as it lives, whether anybody listens or not: by a
/// name that has no place in the file system and belongs to the network, as ports do.
/// tools/lab/process.py does the same.
bool Holds(int port) {
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string text = absl::StrCat("isocenter-test-port-", port);
  std::ranges::copy(text, name.sun_path + 1);  // behind a zero
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  const int held = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (held < 0) return false;
  if (bind(held, reinterpret_cast<const sockaddr*>(&name), bytes) == 0) return true;
  close(held);
  return false;
}

bool CanListenOn(int port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return false;
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port))};
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  const bool free = bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  close(listener);
  return free;
}

}  // namespace

int PortForRestarts() {
  constexpr int kFirst = 10000, kPorts = 20000;
  static int next = getpid();
  for (int tries = 0; tries < kPorts; ++tries) {
    const int port = kFirst + next++ % kPorts;
    if (Holds(port) && CanListenOn(port)) return port;
  }
  return 0;
}

Daemon::Daemon(const std::string& archive, const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = Arguments(archive, flags);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  std::array<int, 2> output;
  if (pipe2(output.data(), O_CLOEXEC) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    dup2(output[1], STDOUT_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(output[1]);
  FILE* const lines = fdopen(output[0], "r");
  if (lines == nullptr) return;
  std::array<char, 512> line;
  if (fgets(line.data(), line.size(), lines) != nullptr) {
    std::sscanf(line.data(), "ready grpc=127.0.0.1:%d metrics=127.0.0.1:%d", &grpc_port_,
                &metrics_port_);
  }
  fclose(lines);
}

Daemon::~Daemon() {
  if (pid_ > 0) {
    Signal(SIGKILL);
    Wait();
  }
}

void Daemon::Signal(int signal) const {
  if (pid_ > 0) kill(pid_, signal);
}

int Daemon::Wait() {
  int status = 0;
  if (pid_ <= 0 || waitpid(pid_, &status, 0) != pid_) return -1;
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool Daemon::IsRunning() {
  int status = 0;
  if (pid_ <= 0) return false;
  if (waitpid(pid_, &status, WNOHANG) == 0) return true;
  pid_ = 0;
  return false;
}

int64_t Daemon::ResidentBytes() const {
  int64_t total = 0, resident = 0;
  std::ifstream("/proc/" + std::to_string(pid_) + "/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace isocenter::testing
