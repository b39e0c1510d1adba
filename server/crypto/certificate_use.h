// What a certificate is for, and for whom.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::crypto {

struct CertificateUse {
  std::string subject;  // as that of Certificate
  /// What its extended key usage is for; both where it has none.
  bool for_servers = true, for_clients = true;
  /// It has a subjectAltName of a kind that clients look for hosts in.
  bool has_names = false;
  std::vector<std::string> not_for;  // of the hosts that were asked for
};

/// Of the first certificate of a PEM file, and which of these hosts, names or addresses, clients
/// would not find in it. `field` names the file in messages. Errors: as ReadCertificates.
absl::StatusOr<CertificateUse> UseOf(absl::string_view field, const std::string& file,
                                     const std::vector<std::string>& hosts = {});

}  // namespace isocenter::crypto
