// Ctrl-C and SIGTERM as an event that threads can wait for.
#pragma once

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace isocenter::cli {

/// From now on SIGINT and SIGTERM, where nothing else waits for them and they are not ignored, end
/// the program with code 130 and a sentence on stderr; files that were not complete are removed.
/// For the beginning of main.
void EndBySignals();

/// While it lives, the first SIGINT or SIGTERM is reported here and the second ends the process
/// with code 130. Make it before any thread starts, at most one at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool happened() const { return happened_.HasBeenNotified(); }
  /// Returns at `deadline`, or at once with true when interrupted.
  bool WaitUntil(absl::Time deadline) const {
    return happened_.WaitForNotificationWithDeadline(deadline);
  }
  /// Called once when interrupted, from a thread of this object; replaces the last one. Returns
  /// when a call under way has ended.
  void SetHandler(const std::function<void()>& handler) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Watch();

  absl::Notification happened_;
  absl::Mutex mutex_;
  std::function<void()> handler_ ABSL_GUARDED_BY(mutex_);
  bool running_ ABSL_GUARDED_BY(mutex_) =
      false;  // true before happened() is, until the handler ends
  int signal_fd_ = -1;
  int stop_fd_ = -1;
  std::thread watcher_;
  std::thread runner_;  // of the handler; started by the watcher, joined after it
};

}  // namespace isocenter::cli
