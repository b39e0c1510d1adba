#include "server/dicom/net/tls.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmtls/tlslayer.h>
#include <dcmtk/dcmtls/tlstrans.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"

namespace isocenter::dicom {
namespace {

// A single read or write that makes no progress for this long fails, as DCMTK's plain ones do.
constexpr absl::Duration kStalled = absl::Seconds(60);

/// What OpenSSL says about its last failure on this thread.
std::string LastError() {
  const char* const reason = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return reason == nullptr ? "the connection broke" : reason;
}

OFCondition Failed(const std::string& text) {
  return makeOFCondition(OFM_dcmtls, 1, OF_error, text.c_str());
}

std::string SubjectOf(X509* certificate) {
  BIO* const text = BIO_new(BIO_s_mem());
  X509_NAME_print_ex(text, X509_get_subject_name(certificate), 0,
                     XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
  char* data = nullptr;
  const long length = BIO_get_mem_data(text, &data);
  std::string subject(data, static_cast<size_t>(std::max(0L, length)));
  BIO_free(text);
  return subject;
}

std::string Sha256Of(X509* certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int length = 0;
  X509_digest(certificate, EVP_sha256(), digest.data(), &length);
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), length});
}

/// DCMTK's connection blocks as long as the other side trickles bytes. This one waits by itself, on
/// a socket that does not block, so that the allowance's deadline holds during the handshake and
/// inside of records too.
class Connection : public DcmTLSConnection {
 public:
  Connection(int socket, SSL* session, const std::string& certificate_sha256, Allowance& allowance,
             TlsPeer& peer)
      : DcmTLSConnection(socket, session),
        session_(session),
        certificate_sha256_(certificate_sha256),
        allowance_(allowance),
        peer_(peer) {
    (void)fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
  }

  OFCondition serverSideHandshake() override { return Handshake(SSL_accept); }
  OFCondition clientSideHandshake() override { return Handshake(SSL_connect); }

  ssize_t read(void* buffer, size_t bytes) override {
    if (allowance_.bytes <= 0) {
      errno = ECONNABORTED;
      return -1;
    }
    const int wanted = static_cast<int>(std::min<size_t>(bytes, 1 << 20));
    const int received = Drive([&] { return SSL_read(session_, buffer, wanted); });
    if (received > 0) allowance_.bytes -= received;
    const int on = 1;  // as for plain connections, see association.cc
    (void)setsockopt(getSocket(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
    return received;
  }

  ssize_t write(void* buffer, size_t bytes) override {
    return Drive([&] { return SSL_write(session_, buffer, static_cast<int>(bytes)); });
  }

 private:
  /// Repeats an operation until it has succeeded or failed. More than 0: success; 0: the other side
  /// has closed the session.
  template <class Operation>
  int Drive(const Operation& operation) {
    while (true) {
      ERR_clear_error();
      const int result = operation();
      if (result > 0) return result;
      pollfd watched = {static_cast<int>(getSocket()), 0, 0};
      switch (SSL_get_error(session_, result)) {
        case SSL_ERROR_WANT_READ:
          watched.events = POLLIN;
          break;
        case SSL_ERROR_WANT_WRITE:
          watched.events = POLLOUT;
          break;
        case SSL_ERROR_ZERO_RETURN:
          return 0;
        default:
          return -1;
      }
      const absl::Duration left = std::min(allowance_.deadline - absl::Now(), kStalled);
      const int ready = poll(
          &watched, 1, static_cast<int>(std::max<int64_t>(0, absl::ToInt64Milliseconds(left))));
      if (ready > 0 || (ready < 0 && errno == EINTR)) continue;
      errno = ETIMEDOUT;
      return -1;
    }
  }

  OFCondition Handshake(int (*step)(SSL*)) {
    if (Drive([&] { return step(session_); }) <= 0) {
      const long verified = SSL_get_verify_result(session_);
      return Failed(verified != X509_V_OK
                        ? absl::StrCat("the other side's certificate is not accepted: ",
                                       X509_verify_cert_error_string(verified))
                        : absl::StrCat("the TLS handshake failed: ",
                                       errno == ETIMEDOUT ? "it took too long" : LastError()));
    }
    X509* const certificate = SSL_get1_peer_certificate(session_);
    if (certificate == nullptr) return EC_Normal;
    peer_.subject = SubjectOf(certificate);
    const std::string sha256 = Sha256Of(certificate);
    X509_free(certificate);
    if (!certificate_sha256_.empty() && sha256 != certificate_sha256_) {
      return Failed(absl::StrCat("the other side's certificate is not the expected one: its ",
                                 "SHA-256 is ", sha256));
    }
    return EC_Normal;
  }

  SSL* const session_;  // owned by the base
  const std::string& certificate_sha256_;
  Allowance& allowance_;
  TlsPeer& peer_;
};

DcmTLSSecurityProfile ProfileOf(TlsProfile profile) {
  switch (profile) {
    case TlsProfile::kBcp195:
      return TSP_Profile_BCP195;
    case TlsProfile::kBcp195Extended:
      return TSP_Profile_BCP195_Extended;
    case TlsProfile::kBcp195NonDowngrading:
      break;
  }
  return TSP_Profile_BCP195_ND;
}

absl::Status FromLibrary(absl::string_view action, const std::string& field,
                         const OFCondition& condition) {
  if (condition.good()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot ", action, " of ", field, ": ", condition.text()));
}

}  // namespace

struct TlsContext::Layer {
  explicit Layer(T_ASC_NetworkRole role) : library(role, nullptr, OFTrue) {}
  DcmTLSTransportLayer library;
};

TlsContext::TlsContext(std::unique_ptr<Layer> layer, PeerCheck check)
    : layer_(std::move(layer)), check_(std::move(check)) {}
TlsContext::~TlsContext() = default;

absl::Status TlsContext::UseIdentity(const std::string& field, const TlsIdentity& identity) {
  DcmTLSTransportLayer& library = layer_->library;
  ISO_RETURN_IF_ERROR(
      FromLibrary("use the profile", field, library.setTLSProfile(ProfileOf(identity.profile))));
  ISO_RETURN_IF_ERROR(FromLibrary("use the profile", field, library.activateCipherSuites()));
  SSL_CTX_set_dh_auto(library.getNativeHandle(), 1);
  if (identity.certificate_file.empty()) return absl::OkStatus();
  const std::string certificate_field = field + ".certificate_file";
  ISO_ASSIGN_OR_RETURN(const auto found, certificates::ReadValidCertificates(
                                             certificate_field, identity.certificate_file));
  ISO_RETURN_IF_ERROR(certificates::CheckKey(field + ".private_key_file", identity.private_key_file,
                                             identity.certificate_file));
  ISO_RETURN_IF_ERROR(
      FromLibrary("use the private key", field,
                  library.setPrivateKeyFile(identity.private_key_file.c_str(), DCF_Filetype_PEM)));
  ISO_RETURN_IF_ERROR(
      FromLibrary("use the certificate", field,
                  library.setCertificateFile(identity.certificate_file.c_str(), DCF_Filetype_PEM)));
  expiries_.push_back({certificate_field, certificates::FirstExpiry(found)});
  return absl::OkStatus();
}

absl::Status TlsContext::UseAuthority(const std::string& field, const std::string& ca_file) {
  const std::string ca_field = field + ".ca_file";
  ISO_ASSIGN_OR_RETURN(const auto found, certificates::ReadValidCertificates(ca_field, ca_file));
  if (SSL_CTX_load_verify_locations(layer_->library.getNativeHandle(), ca_file.c_str(), nullptr) !=
      1) {
    return absl::InvalidArgumentError(
        absl::StrCat(ca_field, " is ", ca_file, ", which cannot be used: ", LastError()));
  }
  layer_->library.setCertificateVerification(DCV_requireCertificate);
  expiries_.push_back({ca_field, certificates::FirstExpiry(found)});
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const TlsContext>> TlsContext::ForAcceptor(
    const std::string& field, const TlsIdentity& identity, const std::string& ca_file) {
  std::shared_ptr<TlsContext> context(
      new TlsContext(std::make_unique<Layer>(NET_ACCEPTOR), PeerCheck()));
  ISO_RETURN_IF_ERROR(context->UseIdentity(field, identity));
  if (ca_file.empty()) {
    context->layer_->library.setCertificateVerification(DCV_ignoreCertificate);
    return context;
  }
  ISO_RETURN_IF_ERROR(context->UseAuthority(field, ca_file));
  // Tells callers which of their certificates will do.
  ISO_RETURN_IF_ERROR(
      FromLibrary("use the authority", field,
                  context->layer_->library.addTrustedClientCertificateFile(ca_file.c_str())));
  return context;
}

absl::StatusOr<std::shared_ptr<const TlsContext>> TlsContext::ForRequestor(
    const std::string& field, const TlsIdentity& identity, PeerCheck check) {
  std::shared_ptr<TlsContext> context(
      new TlsContext(std::make_unique<Layer>(NET_REQUESTOR), std::move(check)));
  ISO_RETURN_IF_ERROR(context->UseIdentity(field, identity));
  ISO_RETURN_IF_ERROR(context->UseAuthority(field, context->check_.ca_file));
  return context;
}

DcmTransportConnection* TlsContext::NewConnection(int socket, Allowance& allowance,
                                                  TlsPeer& peer) const {
  SSL* const session = SSL_new(layer_->library.getNativeHandle());
  if (session == nullptr) return nullptr;
  SSL_set_fd(session, socket);
  if (!check_.host.empty()) {
    X509_VERIFY_PARAM* const verification = SSL_get0_param(session);
    if (X509_VERIFY_PARAM_set1_ip_asc(verification, check_.host.c_str()) != 1) {
      X509_VERIFY_PARAM_set1_host(verification, check_.host.c_str(), check_.host.size());
    }
    ERR_clear_error();
  }
  return new Connection(socket, session, check_.certificate_sha256, allowance, peer);
}

}  // namespace isocenter::dicom
