// What a signal means to the service: to end, or nothing.
#pragma once

#include <signal.h>

#include <functional>

namespace isocenter::daemon {

/// SIGTERM and SIGINT end the service; SIGHUP does where it comes of a terminal that is closed.
/// Elsewhere SIGHUP, and SIGUSR1 and SIGUSR2 everywhere, would end the process at once by custom:
/// whoever sends them wants something that other programs do, and the log says that it is not done
/// here.
class ProcessSignals {
 public:
  /// Before any thread exists, so that every thread inherits that they are blocked.
  ProcessSignals();

  /// Until the service is to end. `meanwhile` is called every few seconds.
  void WaitForEnd(const std::function<void()>& meanwhile) const;
  /// From now on a signal to end ends the process at once.
  void EndAtOnce() const;

 private:
  sigset_t ending_, waited_for_;  // those that end it; these, and those that do nothing
};

}  // namespace isocenter::daemon
