// A browser that does what a test wants: one request for each connection, byte for byte.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"

namespace isocenter::testing {

struct HttpAnswer {
  int status = 0;                              // 0: the connection ended without an answer
  std::map<std::string, std::string> headers;  // names in lower case; of several, the last
  std::vector<std::string> cookies;            // as Set-Cookie has them
  std::string body;

  nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

/// A TCP connection to this machine.
class RawConnection {
 public:
  /// `from`: an address of this machine that it comes from; null: the usual one.
  explicit RawConnection(int port, const char* from = nullptr)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (from != nullptr) {
      sockaddr_in source{.sin_family = AF_INET};
      inet_pton(AF_INET, from, &source.sin_addr);
      bind(socket_, reinterpret_cast<sockaddr*>(&source), sizeof(source));
    }
    sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~RawConnection() { close(socket_); }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  bool connected() const { return connected_; }
  bool Send(const std::string& data) const {
    size_t sent = 0;
    while (sent < data.size()) {
      const ssize_t n = send(socket_, data.data() + sent, data.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return false;
      sent += static_cast<size_t>(n);
    }
    return true;
  }
  /// Nothing more is sent.
  void EndSending() const { shutdown(socket_, SHUT_WR); }
  /// Appends what comes; false: the end, or nothing until then.
  bool Receive(std::string& data, absl::Time deadline = absl::Now() + absl::Seconds(20)) const {
    pollfd wait{.fd = socket_, .events = POLLIN};
    const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left <= 0 || poll(&wait, 1, static_cast<int>(left)) <= 0) return false;
    char buffer[16384];
    const ssize_t n = recv(socket_, buffer, sizeof(buffer), 0);
    if (n <= 0) return false;
    data.append(buffer, static_cast<size_t>(n));
    return true;
  }
  /// Whether the other side ends it before the deadline.
  bool EndsBefore(absl::Time deadline) const {
    std::string ignored;
    while (absl::Now() < deadline) {
      pollfd wait{.fd = socket_, .events = POLLIN};
      const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
      if (poll(&wait, 1, static_cast<int>(left)) <= 0) return false;
      char buffer[4096];
      if (recv(socket_, buffer, sizeof(buffer), 0) <= 0) return true;
    }
    return false;
  }

 private:
  int socket_;
  bool connected_ = false;
};

/// Cuts an answer; `text` has all of it.
inline HttpAnswer ParseAnswer(const std::string& text) {
  HttpAnswer answer;
  const size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return answer;
  const std::vector<std::string> lines = absl::StrSplit(text.substr(0, end), "\r\n");
  const std::vector<std::string> first = absl::StrSplit(lines[0], ' ');
  if (first.size() < 2 || !absl::SimpleAtoi(first[1], &answer.status)) return answer;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::pair<std::string, std::string> header =
        absl::StrSplit(lines[i], absl::MaxSplits(':', 1));
    const std::string name = absl::AsciiStrToLower(header.first);
    answer.headers[name] = std::string(absl::StripAsciiWhitespace(header.second));
    if (name == "set-cookie") answer.cookies.push_back(answer.headers[name]);
  }
  answer.body = text.substr(end + 4);
  return answer;
}

class HttpClient {
 public:
  explicit HttpClient(int port) : port_(port) {}

  using Headers = std::vector<std::pair<std::string, std::string>>;

  HttpAnswer Send(const std::string& method, const std::string& target, const Headers& more = {},
                  const std::string& body = "") const {
    Headers headers = headers_;
    for (const auto& header : more) {
      std::erase_if(headers, [&](const auto& other) { return other.first == header.first; });
      headers.push_back(header);
    }
    std::string request = absl::StrCat(method, " ", target, " HTTP/1.1\r\nConnection: close\r\n");
    bool has_host = false;
    for (const auto& [name, value] : headers) {
      absl::StrAppend(&request, name, ": ", value, "\r\n");
      has_host |= name == "Host";
    }
    if (!has_host) absl::StrAppend(&request, "Host: 127.0.0.1:", port_, "\r\n");
    if (!body.empty() || method == "POST") {
      absl::StrAppend(&request, "Content-Length: ", body.size(), "\r\n");
    }
    return SendRaw(absl::StrCat(request, "\r\n", body));
  }
  HttpAnswer SendRaw(const std::string& request) const {
    RawConnection connection(port_);
    std::string text;
    if (!connection.connected() || !connection.Send(request)) return {};
    while (connection.Receive(text)) {
    }
    return ParseAnswer(text);
  }

  HttpAnswer Get(const std::string& target, const Headers& headers = {}) const {
    return Send("GET", target, headers);
  }
  HttpAnswer Post(const std::string& target, const nlohmann::json& body = nullptr,
                  Headers headers = {}) const {
    if (body.is_null()) return Send("POST", target, headers);
    headers.emplace_back("Content-Type", "application/json");
    return Send("POST", target, headers, body.dump());
  }

  /// With every further request.
  void Set(const std::string& name, const std::string& value) {
    headers_.emplace_back(name, value);
  }
  /// What a page does at its start: the CSRF token for changing calls.
  void TakeCsrfToken() {
    Set("X-CSRF-Token", Get("/api/v1/session").json().value("csrf_token", ""));
  }
  /// With the cookie from now on; false: refused.
  bool SignIn(const std::string& token) {
    const HttpAnswer answer = Post("/api/v1/session", {{"token", token}});
    if (answer.status != 200) return false;
    const std::string cookie = answer.header("set-cookie");
    Set("Cookie", cookie.substr(0, cookie.find(';')));
    TakeCsrfToken();
    return true;
  }
  int port() const { return port_; }

 private:
  int port_;
  Headers headers_;
};

}  // namespace isocenter::testing
