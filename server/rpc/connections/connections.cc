#include "server/rpc/connections/connections.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

#include "absl/strings/str_cat.h"
#include "kernels/base/steady_clock.h"
#include "server/base/log.h"

namespace isocenter::rpc {
namespace {

bool IsOpen(int descriptor, ino_t inode) {
  struct stat file;
  return fstat(descriptor, &file) == 0 && file.st_ino == inode;
}

/// Shutting down would leave megabytes to be read; this drops them and tells the peer.
void Reset(int descriptor, ino_t inode) {
  // A number of our own: gRPC may close its one at any time, and another file get it.
  const int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return;
  if (IsOpen(own, inode)) {
    const sockaddr nobody = {.sa_family = AF_UNSPEC, .sa_data = {}};
    (void)connect(own, &nobody, sizeof(nobody));
  }
  close(own);
}

}  // namespace

Peer PeerOf(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    return {text.data(), ntohs(v4.sin_port)};
  }
  if (address.ss_family != AF_INET6) return {};
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text.data(), text.size());
  } else {
    inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  }
  return {text.data(), ntohs(v6.sin6_port)};
}

std::string Connections::Refusal(const std::string& host) {
  const absl::Time now = SteadyNow();
  std::erase_if(shunned_, [now](const auto& entry) { return entry.second <= now; });
  if (shunned_.contains(host)) return "shunned";
  const auto full = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return static_cast<int>(connections_.size()) >= most_ ||
           std::ranges::count(connections_, host,
                              [](const Connection& each) { return each.peer.host; }) >= most_ / 2;
  };
  if (full()) Forget();
  if (!full()) return "";
  return absl::StrCat("full open=", connections_.size(), " most=", most_,
                      " of_one_host=", most_ / 2);
}

bool Connections::Admit(int descriptor, const Peer& peer) {
  struct stat file;
  if (fstat(descriptor, &file) != 0) return false;
  absl::MutexLock lock(&mutex_);
  const std::string refusal = Refusal(peer.host);
  if (refusal.empty()) {
    connections_.push_back({descriptor, file.st_ino, peer});
    return true;
  }
  // At most one line a second: there may be thousands.
  const absl::Time now = SteadyNow();
  if (now - told_ < absl::Seconds(1)) return false;
  told_ = now;
  spdlog::warn("event=connection_refused endpoint=grpc address={} why={}", peer.host, refusal);
  return false;
}

bool Connections::Cut(const Peer& peer) {
  absl::MutexLock lock(&mutex_);
  // A port may have been another connection's before.
  const auto last = std::find_if(connections_.rbegin(), connections_.rend(),
                                 [&](const Connection& each) { return each.peer == peer; });
  if (last == connections_.rend()) return false;
  Reset(last->descriptor, last->inode);
  connections_.erase(std::next(last).base());
  shunned_[peer.host] = SteadyNow() + kPenalty;
  return true;
}

void Connections::Shun(const std::string& host) {
  absl::MutexLock lock(&mutex_);
  shunned_[host] = SteadyNow() + kPenalty;
}

std::vector<std::string> Connections::HostsBeside(const std::vector<Peer>& known) {
  std::set<std::string> hosts;
  absl::MutexLock lock(&mutex_);
  Forget();
  for (const Connection& each : connections_) {
    if (std::ranges::find(known, each.peer) == known.end()) hosts.insert(each.peer.host);
  }
  return {hosts.begin(), hosts.end()};
}

std::map<std::string, int> Connections::ForgetClosed() {
  absl::MutexLock lock(&mutex_);
  return Forget();
}

std::map<std::string, int> Connections::Forget() {
  std::map<std::string, int> closed;
  std::erase_if(connections_, [&](const Connection& connection) {
    if (IsOpen(connection.descriptor, connection.inode)) return false;
    ++closed[connection.peer.host];
    return true;
  });
  return closed;
}

}  // namespace isocenter::rpc
