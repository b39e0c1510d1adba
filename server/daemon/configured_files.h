// The files that the configuration names: certificates, keys, tokens. Read before anything is
// started, so that a mistake is told there and not by a failed handshake.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/crypto/certificates.h"
#include "server/dicom/net/node_options.h"
#include "server/roles/roster.h"

namespace isocenter::daemon {

/// What was read.
struct ConfiguredFiles {
  dicom::NodeOptions dicom;
  std::unique_ptr<roles::Roster> roster;  // who may use gRPC and the web
  std::vector<crypto::Expiry> expiries;   // when each certificate ends
};

/// Reads all files. Certificates are valid now, and each key is that of its certificate. `config`
/// has its defaults. Errors, each with the field and the file: NOT_FOUND (cannot be read),
/// INVALID_ARGUMENT (its content), PERMISSION_DENIED (tokens that others may write).
absl::StatusOr<ConfiguredFiles> ReadConfiguredFiles(const v1::ServerConfig& config);

}  // namespace isocenter::daemon
