#include "server/crypto/server_context.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/crypto/owners.h"

namespace isocenter::crypto {
namespace {

absl::Status CheckReadable(const std::string& field, const std::string& path) {
  if (access(path.c_str(), R_OK) == 0) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(field, " is ", path, ", which cannot be read; legal is a PEM file"));
}

absl::Status Illegal(const std::string& field, const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", path, ", which is not usable (",
                                                 LastError(), "); legal is a PEM file"));
}

}  // namespace

void TlsContextDeleter::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

absl::StatusOr<TlsContext> MakeServerContext(absl::string_view field, const TlsFiles& files) {
  const std::string certificate_field = absl::StrCat(field, ".certificate_file");
  const std::string key_field = absl::StrCat(field, ".private_key_file");
  const std::string authority_field = absl::StrCat(field, ".client_ca_file");
  ISO_RETURN_IF_ERROR(CheckReadable(certificate_field, files.certificate_file));
  ISO_RETURN_IF_ERROR(CheckReadable(key_field, files.private_key_file));
  ERR_clear_error();
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr) return absl::InternalError(absl::StrCat("no TLS: ", LastError()));
  SSL_CTX* const raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(
      raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // TLS 1.2 only with forward secrecy and authenticated encryption; 1.3 has nothing else.
  SSL_CTX_set_cipher_list(raw, "ECDHE+AESGCM:ECDHE+CHACHA20");
  if (SSL_CTX_use_certificate_chain_file(raw, files.certificate_file.c_str()) != 1) {
    return Illegal(certificate_field, files.certificate_file);
  }
  if (SSL_CTX_use_PrivateKey_file(raw, files.private_key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(raw) != 1) {
    return Illegal(key_field, files.private_key_file);
  }
  if (!files.client_ca_file.empty()) {
    ISO_RETURN_IF_ERROR(CheckReadable(authority_field, files.client_ca_file));
    STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(files.client_ca_file.c_str());
    if (names == nullptr ||
        SSL_CTX_load_verify_locations(raw, files.client_ca_file.c_str(), nullptr) != 1) {
      return Illegal(authority_field, files.client_ca_file);
    }
    SSL_CTX_set_client_CA_list(raw, names);
    SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
    // Sessions that are resumed belong to this server and its authority.
    constexpr unsigned char kSessions[] = "isocenter-web";
    SSL_CTX_set_session_id_context(raw, kSessions, sizeof(kSessions) - 1);
  }
  return context;
}

std::string SubjectOfPeer(const ssl_st* tls) {
  const X509Owner certificate(SSL_get1_peer_certificate(tls));
  return certificate == nullptr ? "" : SubjectOf(*certificate, XN_FLAG_RFC2253);
}

}  // namespace isocenter::crypto
