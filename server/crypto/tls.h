// TLS sessions over sockets that others have connected.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/crypto/certificates.h"

struct ssl_ctx_st;
struct ssl_st;

namespace isocenter::crypto {

/// Sets the authorities that must have signed the other sides' certificates: those of a PEM file,
/// which `field` names in messages. Errors: INVALID_ARGUMENT (it cannot be used).
absl::Status UseAuthority(ssl_ctx_st* context, absl::string_view field, const std::string& file);

/// A session with the settings of a context, over a connected socket, for a TlsSession and its
/// owner. The other side's certificate must hold for `host`, a name or address; empty: for
/// anything. Null: memory is out.
ssl_st* NewSession(ssl_ctx_st* context, int socket, const std::string& host);

/// Drives a session over a socket that does not block. It waits by itself, so that a deadline holds
/// during the handshake and inside of records, too. Not thread-safe.
class TlsSession {
 public:
  /// `session` and its socket must outlive this object.
  explicit TlsSession(ssl_st* session) : session_(session) {}

  /// The handshake as server, and as client. Returns the other side's certificate; an empty one
  /// where it has shown none. Errors: UNAVAILABLE.
  absl::StatusOr<Certificate> Accept(absl::Time deadline);
  absl::StatusOr<Certificate> Connect(absl::Time deadline);

  /// As read(2) and write(2). 0: the other side has closed the session.
  ssize_t Read(void* buffer, size_t bytes, absl::Time deadline);
  ssize_t Write(const void* buffer, size_t bytes, absl::Time deadline);

 private:
  template <class Operation>
  int Drive(const Operation& operation, absl::Time deadline);
  absl::StatusOr<Certificate> Handshake(int (*step)(ssl_st*), absl::Time deadline);

  ssl_st* const session_;
};

}  // namespace isocenter::crypto
