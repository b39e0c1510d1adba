#include "server/dicom/net/tls.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmtls/tlslayer.h>
#include <dcmtk/dcmtls/tlstrans.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/crypto/tls.h"

namespace isocenter::dicom {
namespace {

OFCondition Failed(const std::string& text) {
  return makeOFCondition(OFM_dcmtls, 1, OF_error, text.c_str());
}

/// DCMTK's connection blocks as long as the other side trickles bytes. This one waits by itself, on
/// a socket that does not block, so that the allowance's deadline holds during the handshake and
/// inside of records too.
class Connection : public DcmTLSConnection {
 public:
  Connection(int socket, ssl_st* session, const std::string& certificate_sha256,
             Allowance& allowance, TlsPeer& peer)
      : DcmTLSConnection(socket, session),
        session_(session),
        certificate_sha256_(certificate_sha256),
        allowance_(allowance),
        peer_(peer) {
    (void)fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
  }

  OFCondition serverSideHandshake() override { return Check(session_.Accept(allowance_.deadline)); }
  OFCondition clientSideHandshake() override {
    return Check(session_.Connect(allowance_.deadline));
  }

  ssize_t read(void* buffer, size_t bytes) override {
    if (allowance_.bytes <= 0) {
      errno = ECONNABORTED;
      return -1;
    }
    const ssize_t received = session_.Read(buffer, bytes, allowance_.deadline);
    const int on = 1;  // as for plain connections, see association.cc
    (void)setsockopt(getSocket(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
    return allowance_.Take(buffer, received);
  }

  ssize_t write(void* buffer, size_t bytes) override {
    return session_.Write(buffer, bytes, allowance_.deadline);
  }

 private:
  OFCondition Check(const absl::StatusOr<crypto::Certificate>& shown) {
    if (!shown.ok()) return Failed(std::string(shown.status().message()));
    peer_.subject = shown->subject;
    peer_.certificate_sha256 = shown->sha256;
    if (!certificate_sha256_.empty() && shown->sha256 != certificate_sha256_) {
      return Failed(absl::StrCat("the other side's certificate is not the expected one: its ",
                                 "SHA-256 is ", shown->sha256));
    }
    return EC_Normal;
  }

  crypto::TlsSession session_;  // the base's
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

/// What was read of the files.
class TlsContext::Layer {
 public:
  explicit Layer(Role role)
      : library_(role == Role::kAcceptor ? NET_ACCEPTOR : NET_REQUESTOR, nullptr, OFTrue) {}

  absl::Status UseIdentity(const std::string& field, const TlsIdentity& identity);
  absl::Status UseAuthority(const std::string& field, const std::string& ca_file);
  /// Tells callers which of their certificates will do.
  absl::Status TellAuthority(const std::string& field, const std::string& ca_file) {
    return FromLibrary("use the authority", field,
                       library_.addTrustedClientCertificateFile(ca_file.c_str()));
  }
  void AskForNone() { library_.setCertificateVerification(DCV_ignoreCertificate); }

  const std::vector<crypto::Expiry>& expiries() const { return expiries_; }
  ssl_ctx_st* handle() const { return library_.getNativeHandle(); }

 private:
  mutable DcmTLSTransportLayer library_;
  std::vector<crypto::Expiry> expiries_;
};

absl::Status TlsContext::Layer::UseIdentity(const std::string& field, const TlsIdentity& identity) {
  ISO_RETURN_IF_ERROR(
      FromLibrary("use the profile", field, library_.setTLSProfile(ProfileOf(identity.profile))));
  ISO_RETURN_IF_ERROR(FromLibrary("use the profile", field, library_.activateCipherSuites()));
  if (identity.certificate_file.empty()) return absl::OkStatus();
  const std::string certificate_field = field + ".certificate_file";
  ISO_ASSIGN_OR_RETURN(const auto found,
                       crypto::ReadValidCertificates(certificate_field, identity.certificate_file));
  ISO_RETURN_IF_ERROR(crypto::CheckKey(field + ".private_key_file", identity.private_key_file,
                                       identity.certificate_file));
  ISO_RETURN_IF_ERROR(
      FromLibrary("use the private key", field,
                  library_.setPrivateKeyFile(identity.private_key_file.c_str(), DCF_Filetype_PEM)));
  ISO_RETURN_IF_ERROR(FromLibrary(
      "use the certificate", field,
      library_.setCertificateFile(identity.certificate_file.c_str(), DCF_Filetype_PEM)));
  expiries_.push_back({certificate_field, crypto::FirstExpiry(found)});
  return absl::OkStatus();
}

absl::Status TlsContext::Layer::UseAuthority(const std::string& field, const std::string& ca_file) {
  const std::string ca_field = field + ".ca_file";
  ISO_ASSIGN_OR_RETURN(const auto found, crypto::ReadValidCertificates(ca_field, ca_file));
  ISO_RETURN_IF_ERROR(crypto::UseAuthority(handle(), ca_field, ca_file));
  library_.setCertificateVerification(DCV_requireCertificate);
  expiries_.push_back({ca_field, crypto::FirstExpiry(found)});
  return absl::OkStatus();
}

TlsContext::TlsContext(Role role, std::string field, TlsIdentity identity, PeerCheck check)
    : role_(role),
      field_(std::move(field)),
      identity_(std::move(identity)),
      check_(std::move(check)) {}
TlsContext::~TlsContext() = default;

absl::Status TlsContext::ReadAgain() const {
  const auto layer = std::make_shared<Layer>(role_);
  ISO_RETURN_IF_ERROR(layer->UseIdentity(field_, identity_));
  if (role_ == Role::kAcceptor && check_.ca_file.empty()) {
    layer->AskForNone();
  } else {
    ISO_RETURN_IF_ERROR(layer->UseAuthority(field_, check_.ca_file));
  }
  if (role_ == Role::kAcceptor && !check_.ca_file.empty()) {
    ISO_RETURN_IF_ERROR(layer->TellAuthority(field_, check_.ca_file));
  }
  absl::MutexLock lock(&mutex_);
  layer_ = layer;
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const TlsContext>> TlsContext::Make(Role role,
                                                                   const std::string& field,
                                                                   const TlsIdentity& identity,
                                                                   PeerCheck check) {
  std::shared_ptr<const TlsContext> context(
      new TlsContext(role, field, identity, std::move(check)));
  ISO_RETURN_IF_ERROR(context->ReadAgain());
  return context;
}

absl::StatusOr<std::shared_ptr<const TlsContext>> TlsContext::ForAcceptor(
    const std::string& field, const TlsIdentity& identity, const std::string& ca_file) {
  return Make(Role::kAcceptor, field, identity, {.ca_file = ca_file});
}

absl::StatusOr<std::shared_ptr<const TlsContext>> TlsContext::ForRequestor(
    const std::string& field, const TlsIdentity& identity, PeerCheck check) {
  return Make(Role::kRequestor, field, identity, std::move(check));
}

std::vector<crypto::Expiry> TlsContext::expiries() const {
  absl::MutexLock lock(&mutex_);
  return layer_->expiries();
}

std::vector<std::string> TlsContext::files() const {
  std::vector<std::string> files = {identity_.certificate_file, identity_.private_key_file,
                                    check_.ca_file};
  std::erase(files, "");
  return files;
}

DcmTransportConnection* TlsContext::NewConnection(int socket, Allowance& allowance,
                                                  TlsPeer& peer) const {
  absl::MutexLock lock(&mutex_);
  // A session holds what OpenSSL needs of the settings that it was made from.
  ssl_st* const session = crypto::NewSession(layer_->handle(), socket, check_.host);
  if (session == nullptr) return nullptr;
  return new Connection(socket, session, check_.certificate_sha256, allowance, peer);
}

}  // namespace isocenter::dicom
