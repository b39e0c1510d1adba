// A TCP connection that sends what it is told, HTTP/2 or not.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace isocenter::testing {

class RawConnection {
 public:
  /// `from`: an address of the loopback network, to be another host than others.
  explicit RawConnection(int port, const char* from = "127.0.0.1")
      : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    inet_pton(AF_INET, from, &own.sin_addr);
    if (bind(socket_, reinterpret_cast<sockaddr*>(&own), sizeof(own)) != 0) return;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~RawConnection() { close(socket_); }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  bool connected() const { return connected_; }
  /// The server may close at any time: a failure to send is no failure of the test.
  void Send(const std::string& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t n = send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return;
      sent += static_cast<size_t>(n);
    }
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
  void Read() {
    timeval patience{.tv_sec = 0, .tv_usec = 2000};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    char buffer[4096];
    while (recv(socket_, buffer, sizeof(buffer), 0) > 0) {
    }
  }

 private:
  int socket_;
  bool connected_ = false;
};

}  // namespace isocenter::testing
