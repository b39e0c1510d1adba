#include "tests/fault/daemon.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>

namespace isocenter::testing {

Daemon::Daemon(const std::string& archive, const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {ISOCENTERD,
                                        "--archive=" + archive,
                                        "--grpc_address=127.0.0.1:0",
                                        "--metrics_address=127.0.0.1:0",
                                        "--no_dicom",
                                        "--log_level=err"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  std::array<int, 2> output;
  if (pipe(output.data()) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    dup2(output[1], STDOUT_FILENO);
    close(output[0]);
    close(output[1]);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(output[1]);
  FILE* const lines = fdopen(output[0], "r");
  std::array<char, 512> line;
  if (fgets(line.data(), line.size(), lines) != nullptr) {
    std::sscanf(line.data(), "ready grpc=127.0.0.1:%d", &grpc_port_);
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
