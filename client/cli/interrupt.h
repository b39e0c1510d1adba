// Ctrl-C, SIGTERM and the end of a terminal as an event that threads can wait for.
#pragma once

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace isocenter::cli {

/// From now on SIGINT, SIGTERM and SIGHUP, where nothing else waits for them and they are not
/// ignored, end the program with code 130 and a sentence on stderr; SIGPIPE ends it in silence with
/// 141, as it does other programs. Files that were not complete are removed. For the beginning of
/// main.
void EndBySignals();

/// What else that sentence says from now on: what goes on without this program. At most 255 bytes.
void SayWhenEnded(absl::string_view what_goes_on);

/// While it lives, the first SIGINT, SIGTERM or SIGHUP that is not ignored is reported here and the
/// second ends the process with code 130; SIGPIPE ends nothing. Make it before any thread starts,
/// at most one at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool happened() const { return happened_.HasBeenNotified(); }
  /// Returns after `duration`, or at once with true when interrupted.
  bool WaitFor(absl::Duration duration) const ABSL_LOCKS_EXCLUDED(mutex_);
  /// Called once when interrupted, from a thread of this object; replaces the last one. Returns
  /// when a call under way has ended.
  void SetHandler(const std::function<void()>& handler) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Watch();

  absl::Notification happened_;
  mutable absl::Mutex mutex_;
  std::function<void()> handler_ ABSL_GUARDED_BY(mutex_);
  bool running_ ABSL_GUARDED_BY(mutex_) =
      false;  // true before happened() is, until the handler ends
  int signal_fd_ = -1;
  int stop_fd_ = -1;
  std::thread watcher_;
  std::thread runner_;  // of the handler; started by the watcher, joined after it
};

}  // namespace isocenter::cli
