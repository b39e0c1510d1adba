// TLS of the gRPC endpoint.
#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "grpc/grpc_security.h"
#include "grpcpp/security/server_credentials.h"
#include "isocenter/v1/server_config.pb.h"

namespace isocenter::rpc {

/// TLS whose files can be read again while it is served: connections that come from then on get the
/// new certificate, those that are there keep theirs. With a client authority: mutual TLS. For one
/// port of one server, which it outlives. Thread-safe.
class TlsCredentials : public grpc::ServerCredentials {
 public:
  /// Errors: those of ReadRegularFile, INVALID_ARGUMENT (not PEM), naming the field and the file.
  static absl::StatusOr<std::shared_ptr<TlsCredentials>> Read(const v1::TlsConfig& tls);
  ~TlsCredentials() override;

  /// Errors: as Read; what was read before stays.
  absl::Status ReadAgain() ABSL_LOCKS_EXCLUDED(mutex_);

  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/) override {}

 private:
  struct Pem {
    std::string certificate, key, authorities;
  };

  explicit TlsCredentials(const v1::TlsConfig& tls);
  absl::StatusOr<Pem> ReadFiles() const;
  int AddPortToServer(const std::string& address, grpc_server* server) override;
  /// Called for each handshake, `self` is this.
  static grpc_ssl_certificate_config_reload_status Fetch(void* self,
                                                         grpc_ssl_server_certificate_config** made);

  const v1::TlsConfig tls_;
  grpc_server_credentials* const library_;
  absl::Mutex mutex_;
  Pem pem_ ABSL_GUARDED_BY(mutex_);
  bool is_fetched_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace isocenter::rpc
