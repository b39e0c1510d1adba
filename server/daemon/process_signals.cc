#include "server/daemon/process_signals.h"

#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

#include "server/base/log.h"

namespace isocenter::daemon {
namespace {

constexpr timespec kBetweenCalls = {.tv_sec = 5, .tv_nsec = 0};

/// Not where it is ignored, as behind nohup.
bool EndsWithItsTerminal() {
  struct sigaction hangup {};
  if (sigaction(SIGHUP, nullptr, &hangup) != 0 || hangup.sa_handler == SIG_IGN) return false;
  const int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0) return false;
  close(terminal);
  return true;
}

sigset_t SetOf(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

void TellOfNothing(int signal) {
  spdlog::warn(
      "event=signal_ignored signal={} why=\"the configuration is read at the start, tokens and "
      "certificates when their files change, and logs go to standard error: restart the service "
      "for another configuration; SIGTERM ends it\"",
      signal == SIGHUP    ? "SIGHUP"
      : signal == SIGUSR1 ? "SIGUSR1"
                          : "SIGUSR2");
}

}  // namespace

ProcessSignals::ProcessSignals()
    : ending_(EndsWithItsTerminal() ? SetOf({SIGTERM, SIGINT, SIGHUP}) : SetOf({SIGTERM, SIGINT})),
      waited_for_(SetOf({SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2})) {
  pthread_sigmask(SIG_BLOCK, &waited_for_, nullptr);
}

void ProcessSignals::WaitForEnd(const std::function<void()>& meanwhile) const {
  while (true) {
    const int signal = sigtimedwait(&waited_for_, nullptr, &kBetweenCalls);
    if (signal < 0) {
      meanwhile();
    } else if (sigismember(&ending_, signal) == 1) {
      return;
    } else {
      TellOfNothing(signal);
    }
  }
}

void ProcessSignals::EndAtOnce() const { pthread_sigmask(SIG_UNBLOCK, &ending_, nullptr); }

}  // namespace isocenter::daemon
