#include "server/rpc/connections/listener.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "server/base/log.h"

namespace isocenter::rpc {
namespace {

// For scans, the archive, DICOM, the page and metrics.
constexpr int64_t kKeptDescriptors = 512;
constexpr int kMostConnections = 1024, kFewestConnections = 64;
constexpr int kBacklog = 512;
constexpr int kMillisecondsWithoutDescriptors = 100;

void SetOption(int socket, int level, int option, int value) {
  (void)setsockopt(socket, level, option, &value, sizeof(value));
}

int PortOf(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

void SetPort(sockaddr& address, int port) {
  (address.sa_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                 : reinterpret_cast<sockaddr_in&>(address).sin_port) =
      htons(static_cast<uint16_t>(port));
}

/// -1: errno says why not.
int ListenOn(const addrinfo& at) {
  const int socket = ::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return -1;
  SetOption(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  // "[::]" is every address of this machine.
  if (at.ai_family == AF_INET6) SetOption(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (bind(socket, at.ai_addr, at.ai_addrlen) == 0 && listen(socket, kBacklog) == 0) return socket;
  const int error = errno;
  close(socket);
  errno = error;
  return -1;
}

bool IsShortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

int MostConnections(int64_t descriptors) {
  return static_cast<int>(std::clamp<int64_t>((descriptors - kKeptDescriptors) / 2,
                                              kFewestConnections, kMostConnections));
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const std::string& address, int most) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return absl::UnavailableError("it has no port");
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found);
  if (status != 0) return absl::UnavailableError(gai_strerror(status));
  const absl::Cleanup free_found = [found] { freeaddrinfo(found); };
  std::vector<int> sockets;
  int port = 0;
  std::string why;
  // A name may stand for several addresses, of which one suffices: not every machine has IPv6.
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    if (port != 0) SetPort(*at->ai_addr, port);
    if (const int socket = ListenOn(*at); socket >= 0) {
      sockets.push_back(socket);
      port = PortOf(socket);
    } else {
      why = std::strerror(errno);
    }
  }
  if (sockets.empty()) return absl::UnavailableError(why);
  return std::unique_ptr<Listener>(new Listener(std::move(sockets), port, most));
}

Listener::Listener(std::vector<int> sockets, int port, int most)
    : sockets_(std::move(sockets)),
      port_(port),
      stop_(eventfd(0, EFD_CLOEXEC)),
      connections_(most) {}

Listener::~Listener() {
  Stop();
  for (const int socket : sockets_) close(socket);
  close(stop_);
}

void Listener::Start(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor) {
  acceptor_ = std::move(acceptor);
  thread_ = std::thread([this] { Run(); });
}

void Listener::Stop() {
  if (!thread_.joinable()) return;
  (void)eventfd_write(stop_, 1);
  thread_.join();
}

void Listener::Run() {
  pthread_setname_np(pthread_self(), "iso-accept");
  std::vector<pollfd> waiting = {{.fd = stop_, .events = POLLIN, .revents = 0}};
  for (const int socket : sockets_)
    waiting.push_back({.fd = socket, .events = POLLIN, .revents = 0});
  while (true) {
    if (poll(waiting.data(), waiting.size(), -1) < 0) continue;  // a signal
    if (waiting.front().revents != 0) return;
    for (size_t i = 1; i < waiting.size(); ++i) {
      if (waiting[i].revents != 0) Accept(waiting[i].fd);
    }
  }
}

void Listener::Accept(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  const int descriptor =
      accept4(socket, reinterpret_cast<sockaddr*>(&address), &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (descriptor < 0) {
    // Any other error is the connection's, which has gone again.
    if (!IsShortage(errno)) return;
    spdlog::error("event=accept_failed endpoint=grpc reason=\"{}\"", std::strerror(errno));
    pollfd stop = {.fd = stop_, .events = POLLIN, .revents = 0};
    (void)poll(&stop, 1, kMillisecondsWithoutDescriptors);
    return;
  }
  if (!connections_.Admit(descriptor, PeerOf(address))) {
    close(descriptor);
    return;
  }
  SetOption(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.listener_fd = socket;
  connection.fd = descriptor;
  acceptor_->HandleNewConnection(&connection);
}

}  // namespace isocenter::rpc
