// What a service does when certificates are renewed while it runs.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/status_macros.h"
#include "server/audit/trail.h"
#include "server/daemon/certificates/certificate_checks.h"
#include "server/daemon/certificates/certificate_renewal.h"
#include "server/daemon/service.h"
#include "server/dicom/net/tls.h"
#include "server/http/web_server.h"
#include "server/metrics/metrics.h"
#include "server/rpc/server.h"

namespace isocenter::daemon {
namespace {

using Expiries = std::vector<crypto::Expiry>;

std::vector<std::string> FilesOf(const v1::TlsConfig& tls) {
  std::vector<std::string> files = {tls.certificate_file(), tls.private_key_file()};
  if (!tls.client_ca_file().empty()) files.push_back(tls.client_ca_file());
  return files;
}

UsedCertificates Served(const std::string& field, const v1::TlsConfig& tls,
                        std::function<absl::Status()> read_again) {
  return {.field = field,
          .files = FilesOf(tls),
          .renew = [field, tls, read_again = std::move(read_again)]() -> absl::StatusOr<Expiries> {
            Expiries expiries;
            ISO_RETURN_IF_ERROR(CheckServerTls(field, tls, {}, expiries));
            ISO_RETURN_IF_ERROR(read_again());
            return expiries;
          }};
}

UsedCertificates OfAssociations(std::shared_ptr<const dicom::TlsContext> tls) {
  return {
      .field = tls->field(), .files = tls->files(), .renew = [tls]() -> absl::StatusOr<Expiries> {
        ISO_RETURN_IF_ERROR(tls->ReadAgain());
        return tls->expiries();
      }};
}

/// Those with which this node calls others, over connections that last.
template <typename Files>
void AddReadOnce(const std::string& field, const Files& files,
                 std::vector<UsedCertificates>& used) {
  if (files.ca_file().empty()) return;
  used.push_back({.field = field,
                  .files = {files.ca_file(), files.certificate_file(), files.private_key_file()},
                  .renew = []() -> absl::StatusOr<Expiries> {
                    return absl::FailedPreconditionError(
                        "they are read at the start only; drain and restart");
                  }});
}

}  // namespace

void Service::WatchCertificates() {
  const v1::ServerConfig& config = configuration_.config;
  std::vector<UsedCertificates> used;
  if (!config.grpc_tls().certificate_file().empty()) {
    used.push_back(
        Served("grpc_tls", config.grpc_tls(), [this] { return grpc_->ReadCertificates(); }));
  }
  if (web_ != nullptr && !config.web().tls().certificate_file().empty()) {
    used.push_back(
        Served("web.tls", config.web().tls(), [this] { return web_->ReadCertificates(); }));
  }
  const dicom::NodeOptions& dicom = configuration_.dicom;
  if (dicom.tls != nullptr) used.push_back(OfAssociations(dicom.tls));
  for (const dicom::Peer& peer : dicom.peers) {
    if (peer.tls != nullptr) used.push_back(OfAssociations(peer.tls));
  }
  AddReadOnce("cluster.replication.keeper", config.cluster().replication().keeper(), used);
  AddReadOnce("cluster.peer_tls", config.cluster().peer_tls(), used);
  AddReadOnce("audit.syslog", config.audit().syslog(), used);
  renewal_ =
      std::make_unique<CertificateRenewal>(std::move(used), [this](const crypto::Expiry& expiry) {
        certificates_->Renew(expiry);
        metrics_->SetCertificateExpiry(expiry.certificate,
                                       absl::ToDoubleSeconds(expiry.not_after - absl::UnixEpoch()));
      });
}

void Service::LookAtCertificates(absl::Time now) {
  renewal_->Look();
  certificates_->Look(now);
}

}  // namespace isocenter::daemon
