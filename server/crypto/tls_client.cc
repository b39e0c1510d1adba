#include "server/crypto/tls_client.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/crypto/owners.h"
#include "server/crypto/tls.h"

namespace isocenter::crypto {
namespace {

constexpr int kSocketSeconds = 5;

}  // namespace

struct TlsClient::Connection {
  const ContextOwner context{SSL_CTX_new(TLS_client_method())};
  Bio stream;
};

TlsClient::TlsClient(TlsClientOptions options)
    : options_(std::move(options)), connection_(std::make_unique<Connection>()) {}
TlsClient::~TlsClient() = default;

absl::StatusOr<std::unique_ptr<TlsClient>> TlsClient::Create(absl::string_view field,
                                                             TlsClientOptions options) {
  std::unique_ptr<TlsClient> client(new TlsClient(std::move(options)));
  const TlsClientOptions& o = client->options_;
  SSL_CTX* const context = client->connection_->context.get();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  ISO_RETURN_IF_ERROR(UseAuthority(context, absl::StrCat(field, ".ca_file"), o.ca_file));
  if (o.certificate_file.empty()) return client;
  const auto check = [field](const char* name, const std::string& file, int result) {
    if (result == 1) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(field, ".", name, " is ", file, ", which cannot be used: ", LastError()));
  };
  ISO_RETURN_IF_ERROR(
      check("certificate_file", o.certificate_file,
            SSL_CTX_use_certificate_chain_file(context, o.certificate_file.c_str())));
  ISO_RETURN_IF_ERROR(
      check("private_key_file", o.private_key_file,
            SSL_CTX_use_PrivateKey_file(context, o.private_key_file.c_str(), SSL_FILETYPE_PEM)));
  return client;
}

absl::Status TlsClient::Send(const std::string& bytes) {
  Bio& stream = connection_->stream;
  if (stream == nullptr) ISO_RETURN_IF_ERROR(Connect());
  const int size = static_cast<int>(bytes.size());
  if (BIO_write(stream.get(), bytes.data(), size) == size) return absl::OkStatus();
  stream.reset();
  return absl::UnavailableError(LastError());
}

absl::Status TlsClient::Connect() {
  ERR_clear_error();
  Bio stream(BIO_new_ssl_connect(connection_->context.get()));
  SSL* session = nullptr;
  BIO_get_ssl(stream.get(), &session);
  BIO_set_conn_hostname(stream.get(), options_.host.c_str());
  BIO_set_conn_port(stream.get(), absl::StrCat(options_.port).c_str());
  ExpectHost(session, options_.host);
  if (BIO_do_connect_retry(stream.get(), kSocketSeconds, -1) != 1) {
    const long verified = SSL_get_verify_result(session);
    return absl::UnavailableError(verified == X509_V_OK ? LastError()
                                                        : X509_verify_cert_error_string(verified));
  }
  // A server that has stopped reading must not hold up whoever sends.
  const timeval limit = {.tv_sec = kSocketSeconds};
  const int socket = static_cast<int>(BIO_get_fd(stream.get(), nullptr));
  (void)setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  connection_->stream = std::move(stream);
  return absl::OkStatus();
}

}  // namespace isocenter::crypto
