// A network that breaks: TCP connections to a server of this machine that are cut, delayed, or stop
// without a word.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <thread>

#include "absl/time/time.h"

namespace isocenter::testing {

/// What happens to one connection. Bytes are those of both directions together.
struct ConnectionFate {
  int64_t cut_after = INT64_MAX;                       // bytes
  absl::Duration lifetime = absl::InfiniteDuration();  // then it is cut
  bool reset = false;  // cut with RST, as by a crashed machine, instead of FIN
  int64_t stall_after = INT64_MAX;
  absl::Duration stall;
  int largest_piece = 65536;  // bytes that go on at once
  absl::Duration delay;       // of each piece
};

class Proxy {
 public:
  /// `fate` is asked for each connection, counted from 0, by the proxy's thread.
  Proxy(int server_port, std::function<ConnectionFate(int connection)> fate);
  /// Cuts all connections.
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  int port() const { return port_; }
  int connections() const { return connections_; }
  int64_t forwarded_bytes() const { return forwarded_bytes_; }
  /// From now on nothing is forwarded, and nobody is told.
  void Freeze() { frozen_ = true; }

 private:
  void Accept();
  void Forward(int client, const ConnectionFate& fate);

  const int server_port_;
  const std::function<ConnectionFate(int connection)> fate_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> connections_{0};
  std::atomic<int64_t> forwarded_bytes_{0};
  std::atomic<bool> frozen_{false}, stopping_{false};
  std::list<std::thread> forwarders_;  // of the accepting thread
  std::thread acceptor_;
};

}  // namespace isocenter::testing
