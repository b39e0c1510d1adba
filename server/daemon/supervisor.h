// What the supervisor of the process is told: systemd, by the protocol of sd_notify(3).
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace isocenter::daemon {

/// Sends one datagram to the socket whose name is `socket` (NOTIFY_SOCKET; "@" stands for the
/// abstract name space). Without effect when it is empty. Waits for at most `patience`, more than
/// 0, while the other side does not read. Errors: INVALID_ARGUMENT (a name that no socket can
/// have), UNAVAILABLE.
absl::Status Notify(const std::string& socket, const std::string& message, absl::Duration patience);

/// The interval within which WATCHDOG_USEC demands a sign of life of this process; infinite where
/// none is demanded. `watchdog_pid`: WATCHDOG_PID; another process's watchdog is none of ours.
absl::Duration WatchdogInterval(const char* watchdog_usec, const char* watchdog_pid);

/// Shows signs of life from its creation to its end, on a thread of its own. Before each, `probe`
/// is called: while it does not return, nothing is shown, and the supervisor ends the process.
class Supervisor {
 public:
  Supervisor(std::string socket, absl::Duration watchdog, std::function<void()> probe);
  /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  explicit Supervisor(std::function<void()> probe);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// The service has started.
  void Ready(const std::string& status) const;
  /// It drains.
  void Stopping(const std::string& status) const;

 private:
  void Live();
  void Tell(const std::string& message, absl::Duration patience) const;

  const std::string socket_;
  const absl::Duration interval_;
  const std::function<void()> probe_;
  absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace isocenter::daemon
