// Why this client and a server that is there do not come together, which no waiting mends.
#pragma once

#include <string>

#include "client/credentials/tls_probe.h"

namespace isocenter::client {

/// Where a client connects to and with what, for messages.
struct Endpoint {
  std::string target;  // host:port
  std::string ca_file, certificate_file;
  Credentials credentials;  // what these held when they were read
};

/// One sentence: what does not fit, and what to do. Connects for it, once, for 2 s at most. Empty:
/// nothing was found that would not pass by itself.
std::string ExplainMismatch(const Endpoint& endpoint);

}  // namespace isocenter::client
