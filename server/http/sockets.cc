#include "server/http/sockets.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace isocenter::http {
namespace {

constexpr int kBacklog = 128;

}  // namespace

int OpenListener(const std::string& address) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  const addrinfo hints{.ai_flags = AI_PASSIVE, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found) != 0) return -1;
  int listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
  if (listener >= 0) {
    const int one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(listener, found->ai_addr, found->ai_addrlen) != 0 || listen(listener, kBacklog) != 0) {
      close(listener);
      listener = -1;
    }
  }
  freeaddrinfo(found);
  return listener;
}

int PortOf(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

int OpenLoopbackSocket() {
  const int plain = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (plain < 0) return -1;
  sockaddr_in here{.sin_family = AF_INET};
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int one = 1;
  setsockopt(plain, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  if (bind(plain, reinterpret_cast<sockaddr*>(&here), sizeof(here)) == 0) return plain;
  close(plain);
  return -1;
}

}  // namespace isocenter::http
