#include "client/cli/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

namespace isocenter::cli {
namespace {

sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

Interrupt::Interrupt() {
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // inherited by every later thread
  signal_fd_ = signalfd(-1, &signals, SFD_CLOEXEC);
  stop_fd_ = eventfd(0, EFD_CLOEXEC);
  watcher_ = std::thread([this] { Watch(); });
}

Interrupt::~Interrupt() {
  eventfd_write(stop_fd_, 1);
  watcher_.join();
  if (runner_.joinable()) runner_.join();
  close(signal_fd_);
  close(stop_fd_);
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void Interrupt::SetHandler(const std::function<void()>& handler) {
  {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](bool* running) { return !*running; }, &running_));
    handler_ = handler;
    if (!happened_.HasBeenNotified()) return;
  }
  if (handler) handler();
}

void Interrupt::Watch() {
  pollfd fds[] = {{signal_fd_, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
  while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
    if (fds[1].revents != 0) return;
    signalfd_siginfo info;
    if (fds[0].revents == 0 || read(signal_fd_, &info, sizeof(info)) != sizeof(info)) continue;
    if (happened_.HasBeenNotified()) _exit(130);
    std::function<void()> handler;
    {
      absl::MutexLock lock(&mutex_);
      handler = handler_;
      running_ = true;
      happened_.Notify();
    }
    runner_ = std::thread([this, handler] {  // so that a second signal need not wait for it
      if (handler) handler();
      absl::MutexLock lock(&mutex_);
      running_ = false;
    });
  }
}

}  // namespace isocenter::cli
