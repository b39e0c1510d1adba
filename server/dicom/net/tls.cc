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
  if (identity.certificate_file.empty()) return absl::OkStatus();
  const std::string certificate_field = field + ".certificate_file";
  ISO_ASSIGN_OR_RETURN(const auto found,
                       crypto::ReadValidCertificates(certificate_field, identity.certificate_file));
  ISO_RETURN_IF_ERROR(crypto::CheckKey(field + ".private_key_file", identity.private_key_file,
                                       identity.certificate_file));
  ISO_RETURN_IF_ERROR(
      FromLibrary("use the private key", field,
                  library.setPrivateKeyFile(identity.private_key_file.c_str(), DCF_Filetype_PEM)));
  ISO_RETURN_IF_ERROR(
      FromLibrary("use the certificate", field,
                  library.setCertificateFile(identity.certificate_file.c_str(), DCF_Filetype_PEM)));
  expiries_.push_back({certificate_field, crypto::FirstExpiry(found)});
  return absl::OkStatus();
}

absl::Status TlsContext::UseAuthority(const std::string& field, const std::string& ca_file) {
  const std::string ca_field = field + ".ca_file";
  ISO_ASSIGN_OR_RETURN(const auto found, crypto::ReadValidCertificates(ca_field, ca_file));
  ISO_RETURN_IF_ERROR(crypto::UseAuthority(layer_->library.getNativeHandle(), ca_field, ca_file));
  layer_->library.setCertificateVerification(DCV_requireCertificate);
  expiries_.push_back({ca_field, crypto::FirstExpiry(found)});
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
  ssl_st* const session =
      crypto::NewSession(layer_->library.getNativeHandle(), socket, check_.host);
  if (session == nullptr) return nullptr;
  return new Connection(socket, session, check_.certificate_sha256, allowance, peer);
}

}  // namespace isocenter::dicom
