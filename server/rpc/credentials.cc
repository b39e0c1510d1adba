#include "server/rpc/credentials.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"

namespace isocenter::rpc {
namespace {

absl::StatusOr<std::string> ReadPem(absl::string_view field, const std::string& path) {
  return ReadPemFile(absl::StrCat("grpc_tls.", field), path);
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const v1::TlsConfig& tls) {
  if (tls.certificate_file().empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      tls.client_ca_file().empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                   : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  ISO_ASSIGN_OR_RETURN(const std::string certificate,
                       ReadPem("certificate_file", tls.certificate_file()));
  ISO_ASSIGN_OR_RETURN(const std::string key, ReadPem("private_key_file", tls.private_key_file()));
  options.pem_key_cert_pairs.push_back({key, certificate});
  if (!tls.client_ca_file().empty()) {
    ISO_ASSIGN_OR_RETURN(options.pem_root_certs, ReadPem("client_ca_file", tls.client_ca_file()));
  }
  return grpc::SslServerCredentials(options);
}

}  // namespace isocenter::rpc
