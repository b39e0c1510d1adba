// What one short connection finds at an address: gRPC says of a handshake that failed hardly more
// than that it has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/credentials/certificate_facts.h"

namespace isocenter::client {

/// What a client shows and trusts, as texts of PEM files.
struct Credentials {
  std::string authorities;  // empty: any server is believed
  std::string certificate, private_key;
};

/// What speaks at an address, by its answer to the greeting of TLS.
enum class Speaker { kUnknown, kTls, kHttp, kHttp2, kDicom };

/// Why a certificate of the server is not believed.
struct Disbelief {
  CertificateFacts certificate;  // that of the server, or of an authority above it
  bool is_of_server = true;
  enum { kExpired, kNotYetValid, kOfAnotherAuthority, kElse } why = kElse;
  std::string words;  // OpenSSL's
};

struct TlsProbe {
  Speaker speaker = Speaker::kUnknown;
  bool speaks_grpc = false;  // by TLS's own negotiation (ALPN)
  std::optional<CertificateFacts> server;
  std::optional<Disbelief> disbelief;
  bool is_for_host = true;  // the server's certificate
  /// The server wants to see a certificate, by one of these authorities; empty: it does not say.
  bool asks_for_certificate = false;
  std::vector<std::string> asked_authorities;
  bool ended_by_server = false;  // in the handshake or right after it
};

/// Connects to `target`, host:port, with TLS, and hangs up. Only a server that is believed is shown
/// the certificate. Blocks for `limit` at most, and for the look-up of the name. Nothing: no
/// connection came about, or the address is of another kind.
std::optional<TlsProbe> ProbeTls(const std::string& target, const Credentials& credentials,
                                 absl::Duration limit);

}  // namespace isocenter::client
