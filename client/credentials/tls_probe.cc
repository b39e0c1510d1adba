#include "client/credentials/tls_probe.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "client/credentials/owners.h"
#include "kernels/base/steady_clock.h"

namespace isocenter::client {
namespace {

/// Of the TCP connection, and how long it may be used.
class Socket {
 public:
  explicit Socket(absl::Time deadline) : deadline_(deadline) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { Close(); }

  /// To the first address of the host that takes it.
  bool Connect(const std::string& host, const std::string& port) {
    const addrinfo hints{.ai_socktype = SOCK_STREAM};
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return false;
    const std::unique_ptr<addrinfo, Freer<freeaddrinfo>> all(found);
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
      Close();
      file_ = socket(one->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      if (file_ < 0) continue;
      if (connect(file_, one->ai_addr, one->ai_addrlen) == 0) return true;
      int error = 0;
      socklen_t size = sizeof error;
      if (errno == EINPROGRESS && Await(POLLOUT) &&
          getsockopt(file_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) {
        return true;
      }
    }
    return false;
  }

  /// A few bytes, which a new connection takes at once.
  bool Send(absl::string_view bytes) {
    return send(file_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }

  enum class Heard { kBytes, kEnd, kNothing };
  /// The next bytes; the other side's end, or silence up to the deadline.
  Heard Receive(std::string& bytes) {
    bytes.resize(16 << 10);
    if (!Await(POLLIN)) return Heard::kNothing;
    const ssize_t size = recv(file_, bytes.data(), bytes.size(), 0);
    bytes.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
    return size > 0 ? Heard::kBytes : Heard::kEnd;
  }

 private:
  bool Await(short what) {
    pollfd one{.fd = file_, .events = what};
    const int64_t left_ms = absl::ToInt64Milliseconds(deadline_ - SteadyNow());
    return poll(&one, 1, static_cast<int>(std::max<int64_t>(left_ms, 0))) == 1;
  }
  void Close() {
    if (file_ >= 0) close(file_);
  }

  const absl::Time deadline_;
  int file_ = -1;
};

Speaker SpeakerOf(absl::string_view first) {
  const auto at = [first](size_t i) { return i < first.size() ? first[i] & 0xff : -1; };
  if (at(0) >= 0x14 && at(0) <= 0x17 && at(1) == 3) return Speaker::kTls;
  if (absl::StartsWith(first, "HTTP/")) return Speaker::kHttp;
  // A settings frame opens each connection (RFC 9113, 3.4).
  if (at(0) == 0 && at(1) == 0 && at(3) == 4) return Speaker::kHttp2;
  // A-ASSOCIATE-RJ or A-ABORT (DICOM PS3.8, 9.3), whose length is 4.
  if ((at(0) == 3 || at(0) == 7) && at(1) == 0 && at(5) == 4) return Speaker::kDicom;
  return Speaker::kUnknown;
}

/// A session of TLS over a socket. The texts are passed by hand, because OpenSSL's own writing
/// would raise SIGPIPE in a program that has not switched it off, and to see the first answer.
class Handshake {
 public:
  Handshake(Socket& socket, SSL* session) : socket_(socket), session_(session) {
    SSL_set_bio(session, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  }

  /// Runs `step`, an operation of OpenSSL, to its end. True: it succeeded.
  template <class Step>
  bool Run(Step step) {
    for (;;) {
      ERR_clear_error();
      const int result = step(session_);
      const int error = SSL_get_error(session_, result);
      if (!Flush()) return false;
      if (result == 1) return true;
      if (error != SSL_ERROR_WANT_READ) {
        ended_ = error == SSL_ERROR_ZERO_RETURN || HasAlert();
        return false;
      }
      std::string bytes;
      const Socket::Heard heard = socket_.Receive(bytes);
      ended_ = heard == Socket::Heard::kEnd;
      if (heard != Socket::Heard::kBytes) return false;
      if (first_.empty()) first_ = bytes.substr(0, 16);
      BIO_write(SSL_get_rbio(session_), bytes.data(), static_cast<int>(bytes.size()));
    }
  }

  bool ended() const { return ended_; }
  const std::string& first() const { return first_; }

 private:
  /// The server's last word is why it hangs up.
  static bool HasAlert() { return ERR_GET_REASON(ERR_peek_last_error()) >= SSL_AD_REASON_OFFSET; }
  bool Flush() {
    char* data = nullptr;
    const long size = BIO_get_mem_data(SSL_get_wbio(session_), &data);
    const bool sent = size <= 0 || socket_.Send({data, static_cast<size_t>(size)});
    (void)BIO_reset(SSL_get_wbio(session_));
    ended_ |= !sent;
    return sent;
  }

  Socket& socket_;
  SSL* const session_;
  bool ended_ = false;
  std::string first_;
};

/// The certificate that is refused first is kept in the session, and the handshake goes on: what
/// else is wrong is of interest as well.
int KeepDisbelief(int is_believed, X509_STORE_CTX* context) {
  const SSL* session =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto& kept = *static_cast<std::optional<Disbelief>*>(SSL_get_app_data(session));
  const X509* const refused = X509_STORE_CTX_get_current_cert(context);
  if (is_believed == 1 || refused == nullptr || kept.has_value()) return 1;
  const int error = X509_STORE_CTX_get_error(context);
  kept = Disbelief{.certificate = Describe(refused),
                   .is_of_server = X509_STORE_CTX_get_error_depth(context) == 0,
                   .words = X509_verify_cert_error_string(error)};
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      kept->why = Disbelief::kExpired;
      break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      kept->why = Disbelief::kNotYetValid;
      break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      kept->why = Disbelief::kOfAnotherAuthority;
      break;
    default:
      break;
  }
  return 1;
}

ContextOwner ContextOf(const Credentials& credentials) {
  ContextOwner context(SSL_CTX_new(TLS_client_method()));
  X509_STORE* const store = SSL_CTX_get_cert_store(context.get());
  // As gRPC verifies.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
  for (const X509Owner& one : ReadAll(credentials.authorities)) {
    X509_STORE_add_cert(store, one.get());
  }
  if (!credentials.authorities.empty()) {
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, KeepDisbelief);
  }
  return context;
}

bool IsForHost(X509* certificate, const std::string& host) {
  return X509_check_host(certificate, host.data(), host.size(), 0, nullptr) == 1 ||
         X509_check_ip_asc(certificate, host.c_str(), 0) == 1;
}

struct Visit {
  const Credentials& own;
  const std::string& host;
  TlsProbe& probe;
};

/// The server asks for a certificate. A stranger is not shown who we are.
int ShowCertificate(SSL* session, void* of) {
  const Visit& visit = *static_cast<const Visit*>(of);
  visit.probe.asks_for_certificate = true;
  X509* const server = SSL_get0_peer_certificate(session);
  const std::vector<X509Owner> own = ReadAll(visit.own.certificate);
  const KeyOwner key = ReadKey(visit.own.private_key);
  if (visit.probe.disbelief.has_value() || server == nullptr || !IsForHost(server, visit.host) ||
      own.empty() || key == nullptr) {
    return 1;
  }
  SSL_use_certificate(session, own[0].get());
  SSL_use_PrivateKey(session, key.get());
  for (size_t i = 1; i < own.size(); ++i) SSL_add1_chain_cert(session, own[i].get());
  return 1;
}

std::vector<std::string> AskedAuthorities(const SSL* session) {
  std::vector<std::string> authorities;
  const STACK_OF(X509_NAME)* names = SSL_get0_peer_CA_list(session);
  for (int i = 0; names != nullptr && i < sk_X509_NAME_num(names); ++i) {
    authorities.push_back(NameOf(sk_X509_NAME_value(names, i)));
  }
  return authorities;
}

}  // namespace

std::optional<TlsProbe> ProbeTls(const std::string& target, const Credentials& credentials,
                                 absl::Duration limit) {
  const size_t colon = target.rfind(':');
  if (absl::StartsWith(target, "unix:") || colon == std::string::npos) return std::nullopt;
  std::string host = target.substr(0, colon);
  if (absl::StartsWith(host, "[")) host = host.substr(1, host.size() - 2);
  Socket socket(SteadyNow() + limit);
  if (!socket.Connect(host, target.substr(colon + 1))) return std::nullopt;

  TlsProbe probe;
  const ContextOwner context = ContextOf(credentials);
  const Session session(SSL_new(context.get()));
  SSL_set_app_data(session.get(), &probe.disbelief);
  Visit visit{credentials, host, probe};
  SSL_set_cert_cb(session.get(), ShowCertificate, &visit);
  constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  SSL_set_alpn_protos(session.get(), kHttp2, sizeof kHttp2);
  // RFC 6066, 3: a name, no address.
  in6_addr any{};
  if (inet_pton(AF_INET, host.c_str(), &any) != 1 && inet_pton(AF_INET6, host.c_str(), &any) != 1) {
    SSL_set_tlsext_host_name(session.get(), host.c_str());
  }
  Handshake handshake(socket, session.get());
  // Whether a server takes the client's certificate shows after TLS 1.3's handshake: one that does
  // begins to talk.
  char first = 0;
  if (handshake.Run(SSL_connect)) {
    handshake.Run([&first](SSL* s) { return SSL_read(s, &first, 1); });
  }
  probe.speaker = SpeakerOf(handshake.first());
  probe.ended_by_server = handshake.ended();
  const unsigned char* protocol = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(session.get(), &protocol, &size);
  probe.speaks_grpc = size == 2;
  probe.asked_authorities = AskedAuthorities(session.get());
  if (X509* const server = SSL_get0_peer_certificate(session.get())) {
    probe.server = Describe(server);
    probe.is_for_host = IsForHost(server, host);
  }
  ERR_clear_error();
  return probe;
}

}  // namespace isocenter::client
