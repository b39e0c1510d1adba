// The DICOM node, its certificates, its peers and where it sends, as the configuration has them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/archive/routing.h"
#include "server/crypto/certificates.h"
#include "server/dicom/net/node_options.h"
#include "server/dicom/sending/sender.h"

namespace isocenter::daemon {

/// Reads the files of TLS. `config` has its defaults. Appends to `expiries` when the certificates
/// of the node and its peers end. Errors: NOT_FOUND (a file that cannot be read), INVALID_ARGUMENT
/// (its content), both with the field and the file.
absl::StatusOr<dicom::NodeOptions> DicomOptions(const v1::DicomNodeConfig& config,
                                                std::vector<crypto::Expiry>& expiries);

/// The peer of this title; there is one.
dicom::Peer PeerOf(const dicom::NodeOptions& node, const std::string& ae_title);

/// Which results go where by themselves. `config` has its defaults and is valid, here and below.
std::vector<archive::Route> RoutesOf(const v1::DicomNodeConfig& config);

/// `node` has the peers.
dicom::SenderOptions SenderOptionsOf(const v1::DicomNodeConfig& config,
                                     const dicom::NodeOptions& node);

}  // namespace isocenter::daemon
