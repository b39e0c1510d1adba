#include "server/dicom/net/listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace isocenter::dicom {
namespace {

constexpr int kBacklog = 128;

}  // namespace

Descriptor::~Descriptor() {
  if (value_ >= 0) close(value_);
}

absl::StatusOr<Descriptor> Listen(const std::string& address, int port) {
  addrinfo hints = {};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.c_str(), absl::StrCat(port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::InvalidArgumentError(absl::StrCat("dicom address '", address,
                                                   "': ", gai_strerror(error),
                                                   "; legal is an IPv4 address or a host name"));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (socket.get() < 0 || setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      listen(socket.get(), kBacklog) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen for DICOM on ", address, ":", port, ": ", strerror(errno)));
  }
  return socket;
}

int BoundPort(int socket) {
  sockaddr_in address = {};
  socklen_t length = sizeof address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

std::string PeerAddress(int socket) {
  sockaddr_in address = {};
  socklen_t length = sizeof address;
  char text[INET_ADDRSTRLEN] = {};
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      inet_ntop(AF_INET, &address.sin_addr, text, sizeof text) == nullptr) {
    return "";
  }
  return text;
}

}  // namespace isocenter::dicom
