#include "tests/fault/proxy.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/time/clock.h"

namespace isocenter::testing {
namespace {

constexpr int kPatienceMs = 5;  // until it is looked whether the proxy stops

sockaddr_in Loopback(int port) {
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port))};
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  return address;
}

bool SendAll(int to, const char* bytes, ssize_t count) {
  for (ssize_t sent = 0; sent < count;) {
    const ssize_t n = send(to, bytes + sent, count - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += n;
  }
  return true;
}

}  // namespace

Proxy::Proxy(int server_port, std::function<ConnectionFate(int connection)> fate)
    : server_port_(server_port), fate_(std::move(fate)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof(address);
  bind(listener_, reinterpret_cast<sockaddr*>(&address), length);
  listen(listener_, 64);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

Proxy::~Proxy() {
  stopping_ = true;
  acceptor_.join();
  for (std::thread& forwarder : forwarders_) forwarder.join();
  close(listener_);
}

void Proxy::Accept() {
  while (!stopping_) {
    pollfd news{.fd = listener_, .events = POLLIN, .revents = 0};
    if (poll(&news, 1, kPatienceMs) <= 0) continue;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    const ConnectionFate fate = fate_(connections_++);
    forwarders_.emplace_back([this, client, fate] { Forward(client, fate); });
  }
}

void Proxy::Forward(int client, const ConnectionFate& fate) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(server_port_);
  bool alive = connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  std::vector<char> piece(fate.largest_piece);
  int64_t bytes = 0;
  const absl::Time cut_at = absl::Now() + fate.lifetime;
  while (alive && !stopping_ && absl::Now() < cut_at) {
    if (frozen_) {
      absl::SleepFor(absl::Milliseconds(kPatienceMs));
      continue;
    }
    std::array<pollfd, 2> news = {pollfd{.fd = client, .events = POLLIN, .revents = 0},
                                  pollfd{.fd = server, .events = POLLIN, .revents = 0}};
    if (poll(news.data(), news.size(), kPatienceMs) <= 0) continue;
    for (const auto& [from, to] : {std::pair(0, server), std::pair(1, client)}) {
      if (!alive || news[from].revents == 0) continue;
      const auto most = std::min<int64_t>(fate.largest_piece, fate.cut_after - bytes);
      const ssize_t n = recv(news[from].fd, piece.data(), most, 0);
      if (frozen_) break;  // what was sent after Freeze does not pass
      absl::SleepFor(fate.delay);
      alive = n > 0 && SendAll(to, piece.data(), n);
      if (!alive) break;
      const bool passes_stall = bytes < fate.stall_after && bytes + n >= fate.stall_after;
      bytes += n;
      forwarded_bytes_ += n;
      if (passes_stall) absl::SleepFor(fate.stall);
      alive = bytes < fate.cut_after;
    }
  }
  for (const int side : {client, server}) {
    const linger now{.l_onoff = 1, .l_linger = 0};
    if (fate.reset) setsockopt(side, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(side);
  }
}

}  // namespace isocenter::testing
