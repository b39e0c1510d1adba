#include "server/rpc/credentials.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"

namespace isocenter::rpc {
namespace {

absl::StatusOr<std::string> ReadPem(absl::string_view field, const std::string& path) {
  return ReadPemFile(absl::StrCat("grpc_tls.", field), path);
}

}  // namespace

// gRPC's C++ interface has certificates that are read once, and files that it watches itself, of
// which it takes also those that do not fit each other and says nothing. Its C interface asks us.
TlsCredentials::TlsCredentials(const v1::TlsConfig& tls)
    : tls_(tls),
      library_(grpc_ssl_server_credentials_create_with_options(
          grpc_ssl_server_credentials_create_options_using_config_fetcher(
              tls.client_ca_file().empty()
                  ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                  : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY,
              Fetch, this))) {}

TlsCredentials::~TlsCredentials() { grpc_server_credentials_release(library_); }

absl::StatusOr<std::shared_ptr<TlsCredentials>> TlsCredentials::Read(const v1::TlsConfig& tls) {
  std::shared_ptr<TlsCredentials> made(new TlsCredentials(tls));
  ISO_RETURN_IF_ERROR(made->ReadAgain());
  return made;
}

absl::StatusOr<TlsCredentials::Pem> TlsCredentials::ReadFiles() const {
  Pem pem;
  ISO_ASSIGN_OR_RETURN(pem.certificate, ReadPem("certificate_file", tls_.certificate_file()));
  ISO_ASSIGN_OR_RETURN(pem.key, ReadPem("private_key_file", tls_.private_key_file()));
  if (tls_.client_ca_file().empty()) return pem;
  ISO_ASSIGN_OR_RETURN(pem.authorities, ReadPem("client_ca_file", tls_.client_ca_file()));
  return pem;
}

absl::Status TlsCredentials::ReadAgain() {
  ISO_ASSIGN_OR_RETURN(Pem read, ReadFiles());
  absl::MutexLock lock(&mutex_);
  pem_ = std::move(read);
  is_fetched_ = false;
  return absl::OkStatus();
}

int TlsCredentials::AddPortToServer(const std::string& address, grpc_server* server) {
  return grpc_server_add_http2_port(server, address.c_str(), library_);
}

grpc_ssl_certificate_config_reload_status TlsCredentials::Fetch(
    void* self, grpc_ssl_server_certificate_config** made) {
  auto& credentials = *static_cast<TlsCredentials*>(self);
  absl::MutexLock lock(&credentials.mutex_);
  if (credentials.is_fetched_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
  const Pem& pem = credentials.pem_;
  const grpc_ssl_pem_key_cert_pair pair{pem.key.c_str(), pem.certificate.c_str()};
  // gRPC 1.51 aborts without authorities; where no certificate is asked for, they are for nothing.
  const std::string& authorities = pem.authorities.empty() ? pem.certificate : pem.authorities;
  *made = grpc_ssl_server_certificate_config_create(authorities.c_str(), &pair, 1);
  credentials.is_fetched_ = true;
  return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

}  // namespace isocenter::rpc
