// Why a client's handshake failed, in words that say what to do.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace isocenter::crypto {

/// From now on every session of this process that a library makes without a check of its own keeps
/// what is wrong with a certificate which it refuses, for HandshakeFailure() on the same thread.
/// gRPC gives nobody its sessions. Call once, before any session is made.
void WatchRefusals();

/// Why a handshake failed that this thread has just tried as a server: plain text, no certificate,
/// one that has expired or is of an unknown authority, with its subject and dates where it was
/// shown. `reason`: what the TLS library says, which stands behind it.
std::string HandshakeFailure(absl::string_view reason);

/// The same of a handshake that was tried as a client: a port without TLS, a server that ends it,
/// perhaps for the certificate that it was shown.
std::string ServersHandshakeFailure(absl::string_view reason);

}  // namespace isocenter::crypto
