#include "server/http/tls_context.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::http {
namespace {

/// OpenSSL's last word, which is taken from its queue.
std::string LastError() {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(error);
  return reason == nullptr ? "unknown error" : reason;
}

absl::Status CheckReadable(absl::string_view field, const std::string& path) {
  if (access(path.c_str(), R_OK) == 0) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("web.tls.", field, " is ", path, ", which cannot be read; legal is a PEM file"));
}

absl::Status Illegal(absl::string_view field, const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat("web.tls.", field, " is ", path,
                                                 ", which is not usable (", LastError(),
                                                 "); legal is a PEM file"));
}

}  // namespace

void TlsContextDeleter::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

absl::StatusOr<TlsContext> MakeTlsContext(const TlsFiles& files) {
  ISO_RETURN_IF_ERROR(CheckReadable("certificate_file", files.certificate_file));
  ISO_RETURN_IF_ERROR(CheckReadable("private_key_file", files.private_key_file));
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
    return Illegal("certificate_file", files.certificate_file);
  }
  if (SSL_CTX_use_PrivateKey_file(raw, files.private_key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(raw) != 1) {
    return Illegal("private_key_file", files.private_key_file);
  }
  if (!files.client_ca_file.empty()) {
    ISO_RETURN_IF_ERROR(CheckReadable("client_ca_file", files.client_ca_file));
    STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(files.client_ca_file.c_str());
    if (names == nullptr ||
        SSL_CTX_load_verify_locations(raw, files.client_ca_file.c_str(), nullptr) != 1) {
      return Illegal("client_ca_file", files.client_ca_file);
    }
    SSL_CTX_set_client_CA_list(raw, names);
    SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
    // Sessions that are resumed belong to this server and its authority.
    constexpr unsigned char kSessions[] = "isocenter-web";
    SSL_CTX_set_session_id_context(raw, kSessions, sizeof(kSessions) - 1);
  }
  return context;
}

std::string SubjectOf(void* x509) {
  if (x509 == nullptr) return "";
  BIO* const text = BIO_new(BIO_s_mem());
  std::string subject;
  if (X509_NAME_print_ex(text, X509_get_subject_name(static_cast<X509*>(x509)), 0,
                         XN_FLAG_RFC2253) >= 0) {
    char* data = nullptr;
    const long length = BIO_get_mem_data(text, &data);
    subject.assign(data, static_cast<size_t>(length));
  }
  BIO_free(text);
  return subject;
}

}  // namespace isocenter::http
