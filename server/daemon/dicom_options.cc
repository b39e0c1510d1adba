#include "server/daemon/dicom_options.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/net/tls.h"

namespace isocenter::daemon {
namespace {

dicom::TlsProfile ProfileOf(v1::DicomTlsProfile profile) {
  switch (profile) {
    case v1::DICOM_TLS_PROFILE_BCP195:
      return dicom::TlsProfile::kBcp195;
    case v1::DICOM_TLS_PROFILE_BCP195_EXTENDED:
      return dicom::TlsProfile::kBcp195Extended;
    default:
      return dicom::TlsProfile::kBcp195NonDowngrading;
  }
}

dicom::Compression CompressionOf(v1::DicomCompression compression) {
  switch (compression) {
    case v1::DICOM_COMPRESSION_RLE:
      return dicom::Compression::kRleLossless;
    case v1::DICOM_COMPRESSION_JPEG_LS:
      return dicom::Compression::kJpegLsLossless;
    default:
      return dicom::Compression::kNone;
  }
}

/// The contexts share files: each is reported once.
void Append(const std::vector<crypto::Expiry>& from, std::vector<crypto::Expiry>& to) {
  for (const crypto::Expiry& expiry : from) {
    bool known = false;
    for (const crypto::Expiry& other : to) {
      known = known || other.certificate == expiry.certificate;
    }
    if (!known) to.push_back(expiry);
  }
}

absl::StatusOr<dicom::Peer> PeerOf(const v1::DicomPeer& peer, const dicom::TlsIdentity& identity,
                                   const std::string& node_ca_file,
                                   std::vector<crypto::Expiry>& expiries) {
  dicom::Peer made = {.ae_title = peer.ae_title(),
                      .host = peer.host(),
                      .port = static_cast<int>(peer.port()),
                      .compression = CompressionOf(peer.compression())};
  if (!peer.tls()) return made;
  const std::string field = absl::StrCat("dicom_node.peer.", peer.ae_title(), ".tls");
  const bool own_authority = !peer.tls_ca_file().empty();
  dicom::TlsContext::PeerCheck check = {
      .ca_file = own_authority ? peer.tls_ca_file() : node_ca_file,
      .host = peer.tls_check_host() ? peer.host() : ""};
  if (!peer.tls_certificate_sha256().empty()) {
    ISO_ASSIGN_OR_RETURN(check.certificate_sha256,
                         crypto::ParseSha256(absl::StrCat(field, "_certificate_sha256"),
                                             peer.tls_certificate_sha256()));
  }
  ISO_ASSIGN_OR_RETURN(
      made.tls, dicom::TlsContext::ForRequestor(own_authority ? field : "dicom_node.tls", identity,
                                                std::move(check)));
  Append(made.tls->expiries(), expiries);
  return made;
}

}  // namespace

absl::StatusOr<dicom::NodeOptions> DicomOptions(const v1::DicomNodeConfig& config,
                                                std::vector<crypto::Expiry>& expiries) {
  dicom::NodeOptions options{
      .ae_title = config.ae_title(),
      .address = config.address(),
      .port = static_cast<int>(config.port()),
      .max_associations = static_cast<int>(config.max_associations()),
      .check_called_ae_title = config.check_called_ae_title(),
      .max_pdu_bytes = static_cast<int>(config.max_pdu_bytes()),
      .idle_seconds = config.idle_seconds(),
      .tls_port = static_cast<int>(config.tls_port()),
      .tls_only = config.tls_only(),
      .max_associations_per_caller = static_cast<int>(config.max_associations_per_caller()),
      .max_find_matches = static_cast<int>(config.max_find_matches())};
  const v1::DicomTlsConfig& tls = config.tls();
  const dicom::TlsIdentity identity = {.certificate_file = tls.certificate_file(),
                                       .private_key_file = tls.private_key_file(),
                                       .profile = ProfileOf(tls.profile())};
  if (!tls.certificate_file().empty() && !config.disabled()) {
    ISO_ASSIGN_OR_RETURN(
        options.tls, dicom::TlsContext::ForAcceptor("dicom_node.tls", identity,
                                                    tls.anonymous_callers() ? "" : tls.ca_file()));
    Append(options.tls->expiries(), expiries);
  }
  for (const v1::DicomCaller& caller : config.allowed_caller()) {
    options.allowed_callers.push_back({caller.ae_title(), caller.address()});
  }
  for (const v1::DicomPeer& peer : config.peer()) {
    ISO_ASSIGN_OR_RETURN(options.peers.emplace_back(),
                         PeerOf(peer, identity, tls.ca_file(), expiries));
  }
  ISO_RETURN_IF_ERROR(dicom::CheckOptions(options));
  return options;
}

std::string AddressesOf(const dicom::NodeOptions& options, const dicom::Node& node) {
  std::string addresses;
  if (!options.tls_only) absl::StrAppend(&addresses, options.address, ":", node.port());
  if (options.tls != nullptr) {
    absl::StrAppend(&addresses, addresses.empty() ? "" : ",", options.address, ":", node.tls_port(),
                    "/tls");
  }
  return addresses;
}

}  // namespace isocenter::daemon
