#include "client/cli/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "client/formats/file.h"
#include "kernels/base/steady_clock.h"

namespace isocenter::cli {
namespace {

/// A shell has its background jobs ignore Ctrl-C, and nohup the end of the terminal.
bool IsIgnored(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

/// Blocked signals come through a signalfd although they are ignored.
sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (!IsIgnored(signal)) sigaddset(&signals, signal);
  }
  return signals;
}

constexpr int kInterrupted = 130, kBrokenPipe = 128 + SIGPIPE;

char what_goes_on[256];
std::atomic<size_t> what_goes_on_bytes = 0;

/// Nobody reads it where it cannot be written.
void Say(absl::string_view text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

/// Of a signal, which may come anywhere: no memory is taken, nothing is printed through a stream.
void EndOf(int signal) {
  const bool removed = formats::RemovePartialFiles();
  if (signal == SIGPIPE) _exit(kBrokenPipe);
  Say("isocenter: interrupted (");
  Say(signal == SIGTERM ? "SIGTERM" : signal == SIGHUP ? "SIGHUP" : "SIGINT");
  Say(")");
  if (removed) Say("; a file that was not complete was not written");
  if (const size_t bytes = what_goes_on_bytes; bytes > 0) {
    Say("; ");
    Say({what_goes_on, bytes});
  }
  Say("\n");
  _exit(kInterrupted);
}

}  // namespace

void EndBySignals() {
  struct sigaction action {};
  action.sa_handler = EndOf;
  action.sa_mask = Signals();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    if (!IsIgnored(signal)) sigaction(signal, &action, nullptr);
  }
}

void SayWhenEnded(absl::string_view sentence) {
  what_goes_on_bytes = 0;
  what_goes_on_bytes = sentence.copy(what_goes_on, sizeof(what_goes_on) - 1);
}

Interrupt::Interrupt() {
  // Who reads only the beginning of what is said does not want the job to end.
  std::signal(SIGPIPE, SIG_IGN);
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

bool Interrupt::WaitFor(absl::Duration duration) const {
  const auto happened = [this] { return happened_.HasBeenNotified(); };
  absl::MutexLock lock(&mutex_);
  return AwaitFor(mutex_, absl::Condition(&happened), duration);
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
    if (happened_.HasBeenNotified()) {
      formats::RemovePartialFiles();
      _exit(kInterrupted);
    }
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
