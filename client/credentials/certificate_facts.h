// What a certificate says, for messages, and which key belongs to it.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace isocenter::client {

/// Of one certificate. Names are printable and bounded: they may be a stranger's.
struct CertificateFacts {
  std::string subject, issuer;  // "CN=ca", as RFC 2253 writes it
  absl::Time not_before, not_after;
  std::vector<std::string> names;  // of hosts and addresses that it is for
};

/// Of the certificates of a PEM text, in its order; what is none is left out.
std::vector<CertificateFacts> ReadFacts(const std::string& pem);

/// Whether a private key belongs to the first certificate; both are PEM texts. A text that OpenSSL
/// cannot read belongs to nothing.
bool IsKeyOf(const std::string& private_key, const std::string& certificate);

}  // namespace isocenter::client
