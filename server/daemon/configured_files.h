// The files that the configuration names: certificates, keys, tokens. Looked at before the start,
// so that a mistake is told by `isocenterd --check` and by the start itself, and not by a failed
// handshake.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/certificates/certificates.h"

namespace isocenter::daemon {

/// Certificates are valid now, and the key is that of the certificate. `field` is the name of `tls`
/// in the configuration. Appends to `expiries` when the certificates end. Errors: NOT_FOUND (a file
/// that cannot be read), INVALID_ARGUMENT (its content), both with the field and the file.
absl::Status CheckCertificates(absl::string_view field, const v1::TlsConfig& tls,
                               std::vector<certificates::Expiry>& expiries);

/// All of them. `config` has its defaults. Errors: as above; PERMISSION_DENIED (a file of tokens
/// that others may write).
absl::Status CheckFiles(const v1::ServerConfig& config);

}  // namespace isocenter::daemon
