// TLS of associations, as acceptor and as requestor. Source: DICOM PS3.15, annex B (secure
// transport connection profiles). tls.cc alone knows DCMTK's TLS layer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/crypto/certificates.h"
#include "server/dicom/net/allowance.h"

class DcmTransportConnection;

namespace isocenter::dicom {

enum class TlsProfile {
  kBcp195NonDowngrading,  // TLS 1.2 and newer, RSA certificates under TLS 1.2
  kBcp195,                // also what older peers need
  kBcp195Extended,        // TLS 1.2, RSA and ECDSA certificates
};

/// What both roles have in common. Files are PEM.
struct TlsIdentity {
  std::string certificate_file, private_key_file;  // both empty: no certificate of our own
  TlsProfile profile = TlsProfile::kBcp195NonDowngrading;
};

/// The other side of a session, for the records of who did what.
struct TlsPeer {
  std::string subject;             // of its certificate, RFC 2253; empty: it showed none
  std::string certificate_sha256;  // lower case; empty: it showed none
};

/// Settings, keys and authorities from which the sessions of one role are made. Thread-safe.
class TlsContext {
 public:
  /// For associations that others request. With an authority each of them must present a
  /// certificate that it has signed. Errors: NOT_FOUND (a file that cannot be read),
  /// INVALID_ARGUMENT (its content: not PEM, expired, the key of another certificate), naming the
  /// field below `field` and the file.
  static absl::StatusOr<std::shared_ptr<const TlsContext>> ForAcceptor(const std::string& field,
                                                                       const TlsIdentity& identity,
                                                                       const std::string& ca_file);

  struct PeerCheck {
    std::string ca_file;             // must have signed the peer's certificate
    std::string certificate_sha256;  // the only certificate to be taken; empty: any
    std::string host;                // must stand in the certificate; empty: anything
  };
  /// For associations that we request. Errors as above.
  static absl::StatusOr<std::shared_ptr<const TlsContext>> ForRequestor(const std::string& field,
                                                                        const TlsIdentity& identity,
                                                                        PeerCheck check);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  /// The only certificate that is taken; empty: any.
  const std::string& certificate_sha256() const { return check_.certificate_sha256; }
  /// The files' certificates that expire first; `certificate` is the name of their field.
  std::vector<crypto::Expiry> expiries() const ABSL_LOCKS_EXCLUDED(mutex_);
  /// The files from which it was made, and the field that names them.
  std::vector<std::string> files() const;
  const std::string& field() const { return field_; }
  /// Reads the files again, for connections that come from then on. Errors: those with which it was
  /// made; what was read before stays.
  absl::Status ReadAgain() const ABSL_LOCKS_EXCLUDED(mutex_);

  /// A connection over a connected socket, which it takes over; null when memory is out. It fails
  /// when the other side exceeds the allowance. After the handshake `peer` is known. Both must
  /// outlive the connection, and so must this.
  DcmTransportConnection* NewConnection(int socket, Allowance& allowance, TlsPeer& peer) const;

 private:
  class Layer;
  enum class Role { kAcceptor, kRequestor };
  TlsContext(Role role, std::string field, TlsIdentity identity, PeerCheck check);
  static absl::StatusOr<std::shared_ptr<const TlsContext>> Make(Role role, const std::string& field,
                                                                const TlsIdentity& identity,
                                                                PeerCheck check);

  const Role role_;
  const std::string field_;
  const TlsIdentity identity_;
  const PeerCheck check_;
  mutable absl::Mutex mutex_;
  mutable std::shared_ptr<const Layer> layer_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::dicom
