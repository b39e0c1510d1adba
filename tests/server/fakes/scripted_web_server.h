// A web server that says what its test wants, byte for byte.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace isocenter::testing {

/// Serves one connection after the other on loopback; each has one request. Thread-safe.
class ScriptedWebServer {
 public:
  struct Seen {
    std::string head, body;
  };
  /// Returns the bytes of an answer, after which the connection is closed.
  using Script = std::function<std::string(const Seen&)>;

  /// `reads_body`: else the answer comes when the head has.
  explicit ScriptedWebServer(Script script, bool reads_body = true)
      : script_(std::move(script)), reads_body_(reads_body), listener_(Listen()) {
    thread_ = std::thread([this] { Run(); });
  }
  ~ScriptedWebServer() {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
    }
    thread_.join();
    close(listener_);
  }
  std::string url() const { return absl::StrCat("http://127.0.0.1:", port_); }
  /// Of all requests so far.
  std::vector<Seen> seen() const {
    absl::MutexLock lock(&mutex_);
    return seen_;
  }

  static std::string Answer(const std::string& status, const std::string& type,
                            const std::string& body, const std::string& further = "") {
    return absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", type,
                        "\r\nContent-Length: ", body.size(), "\r\n", further, "\r\n", body);
  }

 private:
  int Listen() {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener, raw, size) != 0 || listen(listener, 16) != 0) std::abort();
    getsockname(listener, raw, &size);
    port_ = ntohs(address.sin_port);
    return listener;
  }
  bool stopping() const {
    absl::MutexLock lock(&mutex_);
    return stopping_;
  }
  /// Until there is something to read; false: the server is to end.
  bool AwaitInput(int socket) const {
    while (!stopping()) {
      pollfd wanted{.fd = socket, .events = POLLIN, .revents = 0};
      if (poll(&wanted, 1, 20) == 1) return true;
    }
    return false;
  }
  void Run() {
    while (AwaitInput(listener_)) {
      const int connection = accept(listener_, nullptr, nullptr);
      if (connection < 0) continue;
      Serve(connection);
      close(connection);
    }
  }
  void Serve(int connection) {
    Seen request;
    std::string all;
    size_t head_bytes = std::string::npos, whole_bytes = std::string::npos;
    while (all.size() < whole_bytes) {
      char piece[1 << 16];
      if (!AwaitInput(connection)) return;
      const ssize_t bytes = recv(connection, piece, sizeof(piece), 0);
      if (bytes <= 0) return;
      all.append(piece, static_cast<size_t>(bytes));
      if (head_bytes != std::string::npos) continue;
      if (const size_t end = all.find("\r\n\r\n"); end != std::string::npos) {
        head_bytes = end + 4;
        request.head = all.substr(0, head_bytes);
        whole_bytes = head_bytes + (reads_body_ ? BodyBytes(request.head) : 0);
        if (reads_body_ && absl::StrContains(request.head, "Expect: 100-continue")) {
          Send(connection, "HTTP/1.1 100 Continue\r\n\r\n");
        }
      }
    }
    request.body = all.substr(head_bytes);
    {
      absl::MutexLock lock(&mutex_);
      seen_.push_back(request);
    }
    Send(connection, script_(request));
  }
  static size_t BodyBytes(const std::string& head) {
    constexpr char kName[] = "Content-Length: ";
    const size_t at = head.find(kName);
    return at == std::string::npos
               ? 0
               : static_cast<size_t>(std::atoll(head.c_str() + at + sizeof(kName) - 1));
  }
  static void Send(int connection, const std::string& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t more = send(connection, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (more <= 0) return;
      sent += static_cast<size_t>(more);
    }
  }

  const Script script_;
  const bool reads_body_;
  int port_ = 0;
  const int listener_;
  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Seen> seen_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace isocenter::testing
