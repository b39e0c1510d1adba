#include "server/http/tls_front.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/http/sockets.h"

namespace isocenter::http {
namespace {

constexpr size_t kBufferBytes = 16 << 10;  // a TLS record

absl::Status CannotListen(const std::string& address) {
  return absl::UnavailableError(
      absl::StrCat("web.address is ", address, ", which cannot be listened on"));
}

std::string SubjectOfPeer(const SSL* tls) {
  X509* const certificate = SSL_get1_peer_certificate(tls);
  std::string subject = SubjectOf(certificate);
  X509_free(certificate);
  return subject;
}

/// What a call of OpenSSL waits for; 0: it has failed.
short Wanted(const SSL* tls, int result) {
  switch (SSL_get_error(tls, result)) {
    case SSL_ERROR_WANT_READ:
      return POLLIN;
    case SSL_ERROR_WANT_WRITE:
      return POLLOUT;
    default:
      ERR_clear_error();
      return 0;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsFront>> TlsFront::Listen(TlsFrontOptions options) {
  const int listener = OpenListener(options.address);
  if (listener < 0) return CannotListen(options.address);
  const int stop = eventfd(0, EFD_CLOEXEC);
  if (stop < 0) {
    close(listener);
    return absl::InternalError("no event descriptor");
  }
  SSL_CTX_set_mode(options.context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return std::unique_ptr<TlsFront>(
      new TlsFront(std::move(options), listener, stop, PortOf(listener)));
}

TlsFront::TlsFront(TlsFrontOptions options, int listener, int stop, int port)
    : options_(std::move(options)), listener_(listener), stop_(stop), port_(port) {}

TlsFront::~TlsFront() {
  Stop();
  close(listener_);
  close(stop_);
}

void TlsFront::Serve(int plain_port) {
  plain_port_ = plain_port;
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Work(); });
}

void TlsFront::Stop() {
  eventfd_write(stop_, 1);  // stays readable
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

std::optional<TlsPeer> TlsFront::Find(int from_port) const {
  absl::MutexLock lock(&mutex_);
  const auto found = peers_.find(from_port);
  if (found == peers_.end()) return std::nullopt;
  return found->second;
}

bool TlsFront::Wait(int first, short first_events, int second, short second_events,
                    absl::Time deadline) const {
  std::array<pollfd, 3> descriptors = {{{.fd = stop_, .events = POLLIN},
                                        {.fd = first, .events = first_events},
                                        {.fd = second, .events = second_events}}};
  int timeout = -1;
  if (deadline != absl::InfiniteFuture()) {
    timeout = static_cast<int>(std::max<int64_t>(
        0, absl::ToInt64Milliseconds(absl::Ceil(deadline - absl::Now(), absl::Milliseconds(1)))));
  }
  // Negative descriptors are left out.
  return poll(descriptors.data(), descriptors.size(), timeout) > 0 && descriptors[0].revents == 0;
}

void TlsFront::Work() {
  pthread_setname_np(pthread_self(), "iso-tls");
  // A client that is gone is an error of the write, and no signal.
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  std::string address;
  for (int client = Accept(address); client != -1; client = Accept(address)) {
    ServeOne(client, address);
    close(client);
  }
}

int TlsFront::Accept(std::string& address) {
  absl::MutexLock lock(&accepting_);
  while (Wait(listener_, POLLIN, -1, 0, absl::InfiniteFuture())) {
    sockaddr_storage peer{};
    socklen_t length = sizeof(peer);
    const int client = accept4(listener_, reinterpret_cast<sockaddr*>(&peer), &length,
                               SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) {
      // It has left again, or there are no descriptors: those in use end in their time.
      (void)Wait(-1, 0, -1, 0, absl::Now() + absl::Milliseconds(10));
      continue;
    }
    std::array<char, NI_MAXHOST> name{};
    getnameinfo(reinterpret_cast<sockaddr*>(&peer), length, name.data(), name.size(), nullptr, 0,
                NI_NUMERICHOST);
    address = name.data();
    return client;
  }
  return -1;
}

void TlsFront::ServeOne(int client, const std::string& address) {
  const int one = 1;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(options_.context.get()), SSL_free);
  if (tls == nullptr || SSL_set_fd(tls.get(), client) != 1 || !ShakeHands(tls.get(), client)) {
    return;
  }
  const int plain = OpenLoopbackSocket();
  if (plain < 0) return;
  const int from_port = PortOf(plain);
  {
    absl::MutexLock lock(&mutex_);
    peers_[from_port] = {address, SubjectOfPeer(tls.get())};
  }
  sockaddr_in server{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(plain_port_))};
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(plain, reinterpret_cast<sockaddr*>(&server), sizeof(server)) == 0) {
    fcntl(plain, F_SETFL, O_NONBLOCK);
    Pump(tls.get(), client, plain);
    SSL_shutdown(tls.get());
  }
  {
    // Before another program of this machine can have the port.
    absl::MutexLock lock(&mutex_);
    peers_.erase(from_port);
  }
  close(plain);
}

bool TlsFront::ShakeHands(ssl_st* tls, int client) const {
  const absl::Time deadline = absl::Now() + options_.patience;
  while (true) {
    const int result = SSL_accept(tls);
    if (result == 1) return true;
    const short wanted = Wanted(tls, result);
    if (wanted == 0 || absl::Now() > deadline || !Wait(client, wanted, -1, 0, deadline)) {
      return false;
    }
  }
}

void TlsFront::Pump(ssl_st* tls, int client, int plain) const {
  std::array<char, kBufferBytes> in, out;  // from and to the client
  size_t in_begin = 0, in_end = 0, out_begin = 0, out_end = 0;
  bool client_ended = false, server_ended = false;
  // The server has its own patience with requests, and ends connections that idle.
  absl::Time deadline = absl::InfiniteFuture();
  while (!(server_ended && out_begin == out_end)) {
    short client_events = 0, plain_events = 0;
    bool moved = false;
    if (in_begin == in_end && !client_ended) {
      const int n = SSL_read(tls, in.data(), static_cast<int>(in.size()));
      if (n > 0) {
        in_begin = 0;
        in_end = static_cast<size_t>(n);
        moved = true;
      } else if (const short wanted = Wanted(tls, n); wanted != 0) {
        client_events |= wanted;
      } else {
        client_ended = moved = true;
        shutdown(plain, SHUT_WR);
      }
    }
    if (in_begin < in_end) {
      const ssize_t n = send(plain, in.data() + in_begin, in_end - in_begin, MSG_NOSIGNAL);
      if (n > 0) {
        in_begin += static_cast<size_t>(n);
        moved = true;
      } else if (errno == EAGAIN) {
        plain_events |= POLLOUT;
      } else {
        return;
      }
    }
    if (out_begin == out_end && !server_ended) {
      const ssize_t n = recv(plain, out.data(), out.size(), 0);
      if (n > 0) {
        out_begin = 0;
        out_end = static_cast<size_t>(n);
        moved = true;
      } else if (n < 0 && errno == EAGAIN) {
        plain_events |= POLLIN;
      } else {
        server_ended = moved = true;
        deadline = absl::Now() + options_.patience;
      }
    }
    if (out_begin < out_end) {
      const int n = SSL_write(tls, out.data() + out_begin, static_cast<int>(out_end - out_begin));
      if (n > 0) {
        out_begin += static_cast<size_t>(n);
        moved = true;
      } else if (const short wanted = Wanted(tls, n); wanted != 0) {
        client_events |= wanted;
      } else {
        return;
      }
    }
    if (moved) continue;
    // A client that does not read what the server sends is left by the server, which closes. Then
    // the client has a last time to read.
    const bool held_up = out_begin < out_end;
    if (held_up && deadline == absl::InfiniteFuture()) {
      pollfd closed{.fd = plain, .events = POLLRDHUP};
      if (poll(&closed, 1, 0) > 0)
        deadline = absl::Now() + options_.patience;
      else
        plain_events |= POLLRDHUP;
    }
    // Of what nothing is wanted is not asked: that it has hung up would be told again and again.
    if (!Wait(client_events == 0 ? -1 : client, client_events, plain_events == 0 ? -1 : plain,
              plain_events, deadline)) {
      return;
    }
  }
}

}  // namespace isocenter::http
