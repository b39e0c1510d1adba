#include "server/daemon/configured_files.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/daemon/dicom_options.h"
#include "server/daemon/roster.h"

namespace isocenter::daemon {
namespace {

using crypto::Expiry;

absl::Status CheckCertificate(const std::string& field, const std::string& file,
                              std::vector<Expiry>& expiries) {
  ISO_ASSIGN_OR_RETURN(const auto read, crypto::ReadValidCertificates(field, file));
  expiries.push_back({field, crypto::FirstExpiry(read)});
  return absl::OkStatus();
}

/// A certificate and its key. `field` is the message of the configuration that names both.
absl::Status CheckIdentity(const std::string& field, const std::string& certificate_file,
                           const std::string& private_key_file, std::vector<Expiry>& expiries) {
  ISO_RETURN_IF_ERROR(
      CheckCertificate(absl::StrCat(field, ".certificate_file"), certificate_file, expiries));
  return crypto::CheckKey(absl::StrCat(field, ".private_key_file"), private_key_file,
                          certificate_file);
}

absl::Status CheckServerTls(const std::string& field, const v1::TlsConfig& tls,
                            std::vector<Expiry>& expiries) {
  if (tls.certificate_file().empty()) return absl::OkStatus();
  ISO_RETURN_IF_ERROR(
      CheckIdentity(field, tls.certificate_file(), tls.private_key_file(), expiries));
  if (tls.client_ca_file().empty()) return absl::OkStatus();
  return CheckCertificate(absl::StrCat(field, ".client_ca_file"), tls.client_ca_file(), expiries);
}

absl::Status CheckSyslogTls(const v1::AuditSyslogConfig& syslog, std::vector<Expiry>& expiries) {
  if (syslog.host().empty()) return absl::OkStatus();
  ISO_RETURN_IF_ERROR(CheckCertificate("audit.syslog.ca_file", syslog.ca_file(), expiries));
  if (syslog.certificate_file().empty()) return absl::OkStatus();
  return CheckIdentity("audit.syslog", syslog.certificate_file(), syslog.private_key_file(),
                       expiries);
}

}  // namespace

absl::StatusOr<ConfiguredFiles> ReadConfiguredFiles(const v1::ServerConfig& config) {
  ConfiguredFiles files;
  ISO_RETURN_IF_ERROR(CheckServerTls("grpc_tls", config.grpc_tls(), files.expiries));
  if (!config.web().disabled()) {
    ISO_RETURN_IF_ERROR(CheckServerTls("web.tls", config.web().tls(), files.expiries));
  }
  ISO_RETURN_IF_ERROR(CheckSyslogTls(config.audit().syslog(), files.expiries));
  ISO_ASSIGN_OR_RETURN(files.dicom, DicomOptions(config.dicom_node(), files.expiries));
  ISO_ASSIGN_OR_RETURN(files.roster, OpenRoster(config.web()));
  return files;
}

}  // namespace isocenter::daemon
