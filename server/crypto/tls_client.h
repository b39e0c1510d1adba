// A stream of bytes to a server that its certificate vouches for.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::crypto {

struct TlsClientOptions {
  std::string host;  // name or address; must stand in the server's certificate
  int port = 0;
  std::string ca_file;                             // PEM
  std::string certificate_file, private_key_file;  // PEM; empty: none of our own
};

/// One connection at a time, TLS 1.2 and newer. Not thread-safe.
class TlsClient {
 public:
  /// Does not connect yet. `field` names the options in messages. Errors: INVALID_ARGUMENT (a file
  /// that cannot be used).
  static absl::StatusOr<std::unique_ptr<TlsClient>> Create(absl::string_view field,
                                                           TlsClientOptions options);
  ~TlsClient();

  /// Connects where nothing is connected. UNAVAILABLE: the bytes have not been taken; the
  /// connection is closed.
  absl::Status Send(const std::string& bytes);

 private:
  struct Connection;
  explicit TlsClient(TlsClientOptions options);
  absl::Status Connect();

  const TlsClientOptions options_;
  const std::unique_ptr<Connection> connection_;
};

}  // namespace isocenter::crypto
