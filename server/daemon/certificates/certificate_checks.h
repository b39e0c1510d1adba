// The certificates of a configuration: whether they hold, for what and for whom, and for how long.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/config/mistakes.h"
#include "server/crypto/certificates.h"

namespace isocenter::daemon {

/// That all certificates of a PEM file hold now; adds when the first of them ends. Errors: those of
/// crypto::ReadValidCertificates.
absl::Status CheckCertificate(const std::string& field, const std::string& file,
                              std::vector<crypto::Expiry>& expiries);

/// Those of an endpoint that serves TLS; without a certificate there is nothing to check. `hosts`:
/// by which it will be asked for; names that its certificate lacks are said in the log. Errors:
/// what clients would refuse, or the library.
absl::Status CheckServerTls(const std::string& field, const v1::TlsConfig& tls,
                            const std::vector<std::string>& hosts,
                            std::vector<crypto::Expiry>& expiries);

/// All but those of DICOM associations and of the identity provider, which are read where they are
/// used: dates, keys, extended key usage. Names that a server's certificate lacks are said in the
/// log.
void CheckTlsFiles(const v1::ServerConfig& config, std::vector<crypto::Expiry>& expiries,
                   config::Mistakes& mistakes);

/// Says in the log which certificates end within 30 days: a service that runs goes on when they
/// have ended, but does not start again, and whoever checks them does not connect any more.
void WarnOfEnds(const std::vector<crypto::Expiry>& expiries, absl::Time now);

}  // namespace isocenter::daemon
