#include "client/cli/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "client/formats/file.h"

namespace isocenter::cli {
namespace {

sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

[[noreturn]] void End() {
  formats::RemovePartialFiles();
  _exit(130);
}

/// Of a signal, which may come anywhere: no memory is taken, nothing is printed through a stream.
void EndWithSentence(int signal) {
  static constexpr char kByCtrlC[] =
      "isocenter: interrupted (SIGINT); a file that was not complete was not written\n";
  static constexpr char kByTerm[] =
      "isocenter: interrupted (SIGTERM); a file that was not complete was not written\n";
  const bool by_term = signal == SIGTERM;
  // Nobody reads it where it cannot be written.
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, by_term ? kByTerm : kByCtrlC,
            by_term ? sizeof(kByTerm) - 1 : sizeof(kByCtrlC) - 1);
  End();
}

}  // namespace

void EndBySignals() {
  struct sigaction action {};
  action.sa_handler = EndWithSentence;
  action.sa_mask = Signals();
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction was {};
    // A shell has its background jobs ignore Ctrl-C.
    if (sigaction(signal, nullptr, &was) == 0 && was.sa_handler == SIG_IGN) continue;
    sigaction(signal, &action, nullptr);
  }
}

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
    if (happened_.HasBeenNotified()) End();
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
