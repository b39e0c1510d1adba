// A TCP connection that sends what it is told, HTTP/2 or not.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/time/time.h"

namespace isocenter::testing {

class RawConnection {
 public:
  /// `from`: an address of the loopback network, to be another host than others.
  explicit RawConnection(int port, const char* from = "127.0.0.1")
      : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    const auto address_of = [](const char* host, int number) {
      sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(number))};
      inet_pton(AF_INET, host, &address.sin_addr);
      return address;
    };
    const sockaddr_in own = address_of(from, 0), server = address_of("127.0.0.1", port);
    // A server that reads no more does not hold the test.
    const timeval patience{.tv_sec = 2, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    connected_ = bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof(own)) == 0 &&
                 connect(socket_, reinterpret_cast<const sockaddr*>(&server), sizeof(server)) == 0;
  }
  ~RawConnection() { close(socket_); }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  bool connected() const { return connected_; }
  /// False: the server has closed, which it may at any time, or reads no more.
  bool Send(const std::string& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t n = send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return false;
      sent += static_cast<size_t>(n);
    }
    return true;
  }
  /// What has come.
  std::string Receive() {
    std::string bytes;
    char buffer[65536];
    for (ssize_t n = 0; (n = recv(socket_, buffer, sizeof(buffer), MSG_DONTWAIT)) > 0;) {
      bytes.append(buffer, static_cast<size_t>(n));
    }
    return bytes;
  }
  /// Whether the server has ended it. Drops what has come.
  bool IsClosed() {
    char buffer[4096];
    ssize_t n = 0;
    while ((n = recv(socket_, buffer, sizeof(buffer), MSG_DONTWAIT)) > 0) {
    }
    return n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  }
  /// Waits a little for an answer and drops it.
  void Read() { ReadAll(absl::Milliseconds(2)); }
  /// What comes until the server closes, or says nothing for that long.
  std::string ReadAll(absl::Duration patience) {
    const timeval wait = absl::ToTimeval(patience);
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    std::string all;
    char buffer[4096];
    for (ssize_t n; (n = recv(socket_, buffer, sizeof(buffer), 0)) > 0;) all.append(buffer, n);
    return all;
  }

 private:
  int socket_;
  bool connected_ = false;
};

}  // namespace isocenter::testing
