#include "tests/bench/rooms/metrics_probe.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "kernels/base/status_macros.h"

namespace isocenter::bench {
namespace {

absl::StatusOr<std::string> HttpGet(const std::string& host, const std::string& port,
                                    const char* path) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
    return absl::UnavailableError(absl::StrCat("cannot find ", host));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  const int fd = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, 0);
  const absl::Cleanup close_fd = [fd] { close(fd); };
  const timeval limit{.tv_sec = 2, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  const std::string request =
      absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: ", host, "\r\nConnection: close\r\n\r\n");
  if (connect(fd, found->ai_addr, found->ai_addrlen) != 0 ||
      send(fd, request.data(), request.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(request.size())) {
    return absl::UnavailableError(absl::StrCat("cannot connect to ", host, ":", port));
  }
  std::string answer;
  char piece[16384];
  for (ssize_t got; (got = recv(fd, piece, sizeof(piece), 0)) > 0;) answer.append(piece, got);
  return answer;
}

}  // namespace

absl::StatusOr<int64_t> ResidentBytesOf(absl::string_view metrics) {
  constexpr absl::string_view kName = "process_resident_memory_bytes ";
  for (const absl::string_view line : absl::StrSplit(metrics, '\n')) {
    double bytes = 0;
    if (absl::StartsWith(line, kName) && absl::SimpleAtod(line.substr(kName.size()), &bytes)) {
      return static_cast<int64_t>(bytes);
    }
  }
  return absl::NotFoundError("the metrics have no process_resident_memory_bytes");
}

absl::StatusOr<int64_t> ReadResidentBytes(const std::string& endpoint) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(endpoint, absl::MaxSplits(':', 1));
  if (parts.first.empty() || parts.second.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--metrics is '", endpoint, "'; legal is HOST:PORT"));
  }
  ISO_ASSIGN_OR_RETURN(const std::string answer, HttpGet(parts.first, parts.second, "/metrics"));
  return ResidentBytesOf(answer);
}

MemoryProbe::MemoryProbe(std::string endpoint) : endpoint_(std::move(endpoint)) {
  thread_ = std::thread([this] { Run(); });
}

void MemoryProbe::Run() {
  absl::MutexLock lock(&mutex_);
  for (bool last = false; !last;) {
    last = stop_;
    mutex_.Unlock();
    const absl::StatusOr<int64_t> bytes = ReadResidentBytes(endpoint_);
    mutex_.Lock();
    if (bytes.ok()) {
      if (figures_.start == 0) figures_.start = *bytes;
      figures_.max = std::max(figures_.max, *bytes);
      figures_.end = *bytes;
    }
    if (!last) mutex_.AwaitWithTimeout(absl::Condition(&stop_), absl::Seconds(1));
  }
}

MemoryProbe::Figures MemoryProbe::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  if (thread_.joinable()) thread_.join();
  absl::MutexLock lock(&mutex_);
  return figures_;
}

}  // namespace isocenter::bench
