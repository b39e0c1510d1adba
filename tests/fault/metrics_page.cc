#include "tests/fault/metrics_page.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace isocenter::testing {
namespace {

std::string Page(int port) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port))};
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  std::string page;
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    const std::string request = "GET /metrics HTTP/1.0\r\nConnection: close\r\n\r\n";
    send(connection, request.data(), request.size(), MSG_NOSIGNAL);
    char buffer[4096];
    for (ssize_t n; (n = recv(connection, buffer, sizeof(buffer), 0)) > 0;) page.append(buffer, n);
  }
  close(connection);
  return page;
}

}  // namespace

std::optional<double> Metric(int metrics_port, const std::string& sample) {
  const std::string page = Page(metrics_port);
  const size_t line = page.find(absl::StrCat("\n", sample, " "));
  if (line == std::string::npos) return std::nullopt;
  return std::strtod(page.c_str() + line + sample.size() + 2, nullptr);
}

}  // namespace isocenter::testing
