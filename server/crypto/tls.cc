#include "server/crypto/tls.h"

#include <openssl/x509v3.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/crypto/handshake_failure.h"
#include "server/crypto/owners.h"

namespace isocenter::crypto {
namespace {

// A single read or write that makes no progress for this long fails, as those of plain sockets do.
constexpr absl::Duration kStalled = absl::Seconds(60);
constexpr size_t kMostAtOnce = 1 << 20;

}  // namespace

std::string LastError() {
  const char* const reason = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return reason == nullptr ? "the connection broke" : reason;
}

void ExpectHost(SSL* session, const std::string& host) {
  X509_VERIFY_PARAM* const verification = SSL_get0_param(session);
  if (X509_VERIFY_PARAM_set1_ip_asc(verification, host.c_str()) != 1) {
    X509_VERIFY_PARAM_set1_host(verification, host.c_str(), host.size());
  }
  ERR_clear_error();
}

absl::Status UseAuthority(ssl_ctx_st* context, absl::string_view field, const std::string& file) {
  if (SSL_CTX_load_verify_locations(context, file.c_str(), nullptr) == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", file, ", which cannot be used: ", LastError()));
}

ssl_st* NewSession(ssl_ctx_st* context, int socket, const std::string& host) {
  SSL* const session = SSL_new(context);
  if (session == nullptr) return nullptr;
  SSL_set_dh_auto(session, 1);
  SSL_set_fd(session, socket);
  if (!host.empty()) ExpectHost(session, host);
  return session;
}

/// Repeats an operation until it has succeeded or failed. More than 0: success; 0: the other side
/// has closed the session.
template <class Operation>
int TlsSession::Drive(const Operation& operation, absl::Time deadline) {
  while (true) {
    ERR_clear_error();
    const int result = operation();
    if (result > 0) return result;
    pollfd watched = {SSL_get_fd(session_), 0, 0};
    switch (SSL_get_error(session_, result)) {
      case SSL_ERROR_WANT_READ:
        watched.events = POLLIN;
        break;
      case SSL_ERROR_WANT_WRITE:
        watched.events = POLLOUT;
        break;
      case SSL_ERROR_ZERO_RETURN:
        return 0;
      default:
        return -1;
    }
    const absl::Duration left = std::min(deadline - absl::Now(), kStalled);
    const int ready =
        poll(&watched, 1, static_cast<int>(std::max<int64_t>(0, absl::ToInt64Milliseconds(left))));
    if (ready > 0 || (ready < 0 && errno == EINTR)) continue;
    errno = ETIMEDOUT;
    return -1;
  }
}

absl::StatusOr<Certificate> TlsSession::Handshake(int (*step)(ssl_st*), absl::Time deadline) {
  if (Drive([&] { return step(session_); }, deadline) <= 0) {
    const long verified = SSL_get_verify_result(session_);
    return absl::UnavailableError(
        verified != X509_V_OK
            ? absl::StrCat("the other side's certificate is not accepted: ",
                           X509_verify_cert_error_string(verified))
            : absl::StrCat("the TLS handshake failed: ",
                           errno == ETIMEDOUT ? "it took too long" : LastError()));
  }
  const X509Owner certificate(SSL_get1_peer_certificate(session_));
  return certificate == nullptr ? Certificate() : Describe(*certificate);
}

absl::StatusOr<Certificate> TlsSession::Accept(absl::Time deadline) {
  absl::StatusOr<Certificate> shown = Handshake(SSL_accept, deadline);
  if (shown.ok()) return shown;
  return absl::Status(shown.status().code(), HandshakeFailure(shown.status().message()));
}

absl::StatusOr<Certificate> TlsSession::Connect(absl::Time deadline) {
  absl::StatusOr<Certificate> shown = Handshake(SSL_connect, deadline);
  if (shown.ok()) return shown;
  return absl::Status(shown.status().code(), ServersHandshakeFailure(shown.status().message()));
}

ssize_t TlsSession::Read(void* buffer, size_t bytes, absl::Time deadline) {
  const int wanted = static_cast<int>(std::min(bytes, kMostAtOnce));
  return Drive([&] { return SSL_read(session_, buffer, wanted); }, deadline);
}

ssize_t TlsSession::Write(const void* buffer, size_t bytes, absl::Time deadline) {
  return Drive([&] { return SSL_write(session_, buffer, static_cast<int>(bytes)); }, deadline);
}

}  // namespace isocenter::crypto
