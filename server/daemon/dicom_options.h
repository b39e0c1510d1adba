// The DICOM node's options and certificates as the configuration has them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/crypto/certificates.h"
#include "server/dicom/scp/node.h"

namespace isocenter::daemon {

/// Reads the files of TLS. `config` has its defaults. Appends to `expiries` when the certificates
/// of the node and its peers end. Errors: NOT_FOUND (a file that cannot be read), INVALID_ARGUMENT
/// (its content), both with the field and the file.
absl::StatusOr<dicom::NodeOptions> DicomOptions(const v1::DicomNodeConfig& config,
                                                std::vector<crypto::Expiry>& expiries);

/// Where the node listens: "host:port", then the port of TLS as ",host:port/tls" where there is
/// one.
std::string AddressesOf(const dicom::NodeOptions& options, const dicom::Node& node);

}  // namespace isocenter::daemon
