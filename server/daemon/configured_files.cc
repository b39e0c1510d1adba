#include "server/daemon/configured_files.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/daemon/dicom_options.h"
#include "server/daemon/roster.h"

namespace isocenter::daemon {

absl::Status CheckCertificates(absl::string_view field, const v1::TlsConfig& tls,
                               std::vector<certificates::Expiry>& expiries) {
  if (tls.certificate_file().empty()) return absl::OkStatus();
  const std::string certificate_field = absl::StrCat(field, ".certificate_file");
  ISO_ASSIGN_OR_RETURN(const auto own, certificates::ReadValidCertificates(certificate_field,
                                                                           tls.certificate_file()));
  ISO_RETURN_IF_ERROR(certificates::CheckKey(absl::StrCat(field, ".private_key_file"),
                                             tls.private_key_file(), tls.certificate_file()));
  expiries.push_back({certificate_field, certificates::FirstExpiry(own)});
  if (tls.client_ca_file().empty()) return absl::OkStatus();
  const std::string authority_field = absl::StrCat(field, ".client_ca_file");
  ISO_ASSIGN_OR_RETURN(const auto authority,
                       certificates::ReadValidCertificates(authority_field, tls.client_ca_file()));
  expiries.push_back({authority_field, certificates::FirstExpiry(authority)});
  return absl::OkStatus();
}

absl::Status CheckFiles(const v1::ServerConfig& config) {
  std::vector<certificates::Expiry> expiries;
  ISO_RETURN_IF_ERROR(CheckCertificates("grpc_tls", config.grpc_tls(), expiries));
  ISO_RETURN_IF_ERROR(DicomOptions(config.dicom_node(), expiries).status());
  ISO_RETURN_IF_ERROR(OpenRoster(config.web()).status());  // gRPC's too
  if (config.web().disabled()) return absl::OkStatus();
  return CheckCertificates("web.tls", config.web().tls(), expiries);
}

}  // namespace isocenter::daemon
