#include "server/daemon/dicom_options.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/config/dicom_config.h"
#include "server/dicom/net/tls.h"
#include "server/dicom/objects/study_context.h"

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

absl::StatusOr<dicom::Peer> ReadPeer(const v1::DicomPeer& peer, const dicom::TlsIdentity& identity,
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

archive::ResultRole RoleFromProto(int role) {
  switch (role) {
    case v1::RESULT_ROLE_MASK:
      return archive::ResultRole::kMask;
    case v1::RESULT_ROLE_FILL:
      return archive::ResultRole::kFill;
    case v1::RESULT_ROLE_SUBTRACTION:
      return archive::ResultRole::kSubtraction;
    case v1::RESULT_ROLE_REFINEMENT:
      return archive::ResultRole::kRefinement;
    default:
      return archive::ResultRole::kSingle;
  }
}

archive::Route RouteOf(const v1::DicomDestination& destination) {
  archive::Route route{.destination = {.ae_title = config::DestinationName(destination),
                                       .storage_commitment = destination.storage_commitment(),
                                       .sop_classes = {}},
                       .automatic = !destination.on_request_only(),
                       .protocols = {destination.protocol().begin(), destination.protocol().end()},
                       .roles = {}};
  for (const int role : destination.role()) route.roles.insert(RoleFromProto(role));
  for (const int form : destination.form()) {
    route.destination.sop_classes.insert(dicom::SopClassUidOf(
        form == v1::DICOM_FORM_XRAY_3D ? dicom::Form::kXray3d : dicom::Form::kCtSeries));
  }
  return route;
}

stow::Destination StowOf(const v1::DicomWebDestination& web) {
  return {.url = web.url(),
          .bearer_token_file = web.bearer_token_file(),
          .trust = {.ca_file = web.ca_file(),
                    .certificate_file = web.certificate_file(),
                    .private_key_file = web.private_key_file()}};
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
      .max_associations_per_address = static_cast<int>(config.max_associations_per_address()),
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
                         ReadPeer(peer, identity, tls.ca_file(), expiries));
  }
  ISO_RETURN_IF_ERROR(dicom::CheckOptions(options));
  for (const std::string& warning : config::DicomWarnings(config)) {
    spdlog::warn("dicom: {}", warning);
  }
  return options;
}

dicom::Peer PeerOf(const dicom::NodeOptions& node, const std::string& ae_title) {
  for (const dicom::Peer& peer : node.peers) {
    if (peer.ae_title == ae_title) return peer;
  }
  return {.ae_title = ae_title};
}

std::vector<archive::Route> RoutesOf(const v1::DicomNodeConfig& config) {
  std::vector<archive::Route> routes;
  for (const v1::DicomDestination& destination : config.destination()) {
    routes.push_back(RouteOf(destination));
  }
  return routes;
}

dicom::SenderOptions SenderOptionsOf(const v1::DicomNodeConfig& config,
                                     const dicom::NodeOptions& node) {
  dicom::SenderOptions options{.node = node};
  for (const v1::DicomDestination& destination : config.destination()) {
    dicom::SendDestination& made = options.destinations.emplace_back(dicom::SendDestination{
        .route = RouteOf(destination),
        .max_associations = static_cast<int>(destination.max_associations()),
        .first_retry = absl::Seconds(destination.first_retry_seconds()),
        .longest_retry = absl::Seconds(destination.longest_retry_seconds())});
    if (destination.has_dicomweb()) {
      made.stow = StowOf(destination.dicomweb());
    } else {
      made.peer = PeerOf(node, destination.ae_title());
      made.commitment_timeout = absl::Seconds(destination.commitment_seconds());
    }
  }
  return options;
}

}  // namespace isocenter::daemon
