// TLS as server, for a library that makes the sessions.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct ssl_ctx_st;
struct ssl_st;

namespace isocenter::crypto {

/// PEM files. An empty `client_ca_file`: no client certificate is asked for.
struct TlsFiles {
  std::string certificate_file, private_key_file, client_ca_file;
};

struct TlsContextDeleter {
  void operator()(ssl_ctx_st* context) const;
};
using TlsContext = std::unique_ptr<ssl_ctx_st, TlsContextDeleter>;

/// TLS 1.2 and newer. Client certificates are verified where they are presented, and not required.
/// `field` names the files in messages, with their own names behind it. Errors: NOT_FOUND (a file
/// cannot be read), INVALID_ARGUMENT (its content; the key is of another certificate).
absl::StatusOr<TlsContext> MakeServerContext(absl::string_view field, const TlsFiles& files);

/// The subject of the certificate that the other side has shown, as RFC 2253 writes it. Empty:
/// none.
std::string SubjectOfPeer(const ssl_st* tls);

}  // namespace isocenter::crypto
