#include "server/daemon/supervisor.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/steady_clock.h"
#include "server/base/log.h"

namespace isocenter::daemon {
namespace {

// A supervisor that does not read must not keep the service from draining. What is lost is a line
// of its status, or one of several signs of life; but a start that it does not learn of, it ends.
constexpr absl::Duration kPatience = absl::Seconds(2);
constexpr absl::Duration kPatienceOfStart = absl::Seconds(60);

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

absl::Status Notify(const std::string& socket, const std::string& message,
                    absl::Duration patience) {
  if (socket.empty()) return absl::OkStatus();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if ((socket[0] != '/' && socket[0] != '@') || socket.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("NOTIFY_SOCKET is '", socket,
                     "'; legal is an absolute path, or a name after @, of less than ",
                     sizeof(address.sun_path), " characters"));
  }
  std::memcpy(address.sun_path, socket.data(), socket.size());
  if (socket[0] == '@') address.sun_path[0] = '\0';
  const int file = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (file < 0) return absl::UnavailableError(absl::StrCat("socket: ", std::strerror(errno)));
  const timeval timeout = absl::ToTimeval(patience);
  setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket.size());
  const ssize_t sent = sendto(file, message.data(), message.size(), MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address), length);
  const int error = errno;
  close(file);
  if (sent == static_cast<ssize_t>(message.size())) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("cannot send to NOTIFY_SOCKET ", socket, ": ", std::strerror(error)));
}

absl::Duration WatchdogInterval(const char* watchdog_usec, const char* watchdog_pid) {
  int64_t microseconds = 0, pid = 0;
  if (watchdog_usec == nullptr || !absl::SimpleAtoi(watchdog_usec, &microseconds) ||
      microseconds <= 0) {
    return absl::InfiniteDuration();
  }
  if (watchdog_pid != nullptr && (!absl::SimpleAtoi(watchdog_pid, &pid) || pid != getpid())) {
    return absl::InfiniteDuration();
  }
  return absl::Microseconds(microseconds);
}

Supervisor::Supervisor(std::string socket, absl::Duration watchdog, std::function<void()> probe)
    : socket_(std::move(socket)), interval_(watchdog / 3), probe_(std::move(probe)) {
  if (!socket_.empty() && interval_ < absl::InfiniteDuration()) {
    thread_ = std::thread([this] { Live(); });
  }
}

Supervisor::Supervisor(std::function<void()> probe)
    : Supervisor(Environment("NOTIFY_SOCKET"),
                 WatchdogInterval(std::getenv("WATCHDOG_USEC"), std::getenv("WATCHDOG_PID")),
                 std::move(probe)) {}

Supervisor::~Supervisor() {
  if (!thread_.joinable()) return;
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  thread_.join();
}

void Supervisor::Live() {
  absl::MutexLock lock(&mutex_);
  while (!ending_) {
    mutex_.Unlock();
    probe_();
    Tell("WATCHDOG=1", kPatience);
    mutex_.Lock();
    AwaitFor(mutex_, absl::Condition(&ending_), interval_);
  }
}

void Supervisor::Ready(const std::string& status) const {
  Tell(absl::StrCat("READY=1\nSTATUS=", status, "\n"), kPatienceOfStart);
}

void Supervisor::Stopping(const std::string& status) const {
  Tell(absl::StrCat("STOPPING=1\nSTATUS=", status, "\n"), kPatience);
}

void Supervisor::Tell(const std::string& message, absl::Duration patience) const {
  const absl::Status told = Notify(socket_, message, patience);
  if (!told.ok()) spdlog::warn("event=supervisor_not_told reason=\"{}\"", told.ToString());
}

}  // namespace isocenter::daemon
