// TLS of the web server, by OpenSSL.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

struct ssl_ctx_st;

namespace isocenter::http {

/// PEM files. An empty `client_ca_file`: no client certificate is asked for.
struct TlsFiles {
  std::string certificate_file, private_key_file, client_ca_file;
};

struct TlsContextDeleter {
  void operator()(ssl_ctx_st* context) const;
};
using TlsContext = std::unique_ptr<ssl_ctx_st, TlsContextDeleter>;

/// TLS 1.2 and newer. Client certificates are verified where they are presented, and not required.
/// Errors: NOT_FOUND (a file cannot be read), INVALID_ARGUMENT (its content; the key is of another
/// certificate).
absl::StatusOr<TlsContext> MakeTlsContext(const TlsFiles& files);

/// The subject of an X509 certificate as RFC 2253 writes it. Empty for null.
std::string SubjectOf(void* x509);

}  // namespace isocenter::http
