// The real isocenterd as a child process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace isocenter::testing {

/// A server on free ports of the loopback interface. Killed when destroyed, if it still runs.
class Daemon {
 public:
  /// Starts the binary and waits for its "ready" line; grpc_port() is 0 when there was none.
  Daemon(const std::string& archive, const std::vector<std::string>& flags = {});
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  int grpc_port() const { return grpc_port_; }
  std::string grpc_address() const { return "127.0.0.1:" + std::to_string(grpc_port_); }
  void Signal(int signal) const;
  /// Waits for the end. The exit status, or minus the signal that ended it.
  int Wait();
  bool IsRunning();
  /// Resident memory now.
  int64_t ResidentBytes() const;

 private:
  pid_t pid_ = 0;
  int grpc_port_ = 0;
};

}  // namespace isocenter::testing
