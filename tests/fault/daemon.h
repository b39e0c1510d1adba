// The real isocenterd as a child process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace isocenter::testing {

/// A free port for a server that is started again on the same one; no other test is given it, even
/// while nobody listens on it. Outside the range from which
/// systems give ports to outgoing connections: one that tries to reach a server that is down could
/// otherwise be given the server's port, and connect to itself.
int PortForRestarts();

/// A server on free ports of the loopback interface. Killed when destroyed, if it still runs.
class Daemon {
 public:
  /// Starts the binary and waits for its "ready" line; the ports are 0 when there was none.
  /// Flags are "--name=value"; those given here replace the defaults, which have neither page nor
  /// DICOM node.
  Daemon(const std::string& archive, const std::vector<std::string>& flags = {});
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  int grpc_port() const { return grpc_port_; }
  int metrics_port() const { return metrics_port_; }
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
  int metrics_port_ = 0;
};

}  // namespace isocenter::testing
