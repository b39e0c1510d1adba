#include "server/daemon/audit_options.h"

namespace isocenter::daemon {

absl::StatusOr<std::unique_ptr<audit::Trail>> OpenAudit(const v1::ServerConfig& config) {
  const v1::AuditConfig& wanted = config.audit();
  audit::TrailOptions options{.source = config.dicom_node().ae_title()};
  if (!wanted.file().empty()) {
    options.file = {.path = wanted.file(),
                    .max_bytes = wanted.max_file_bytes(),
                    .max_files = static_cast<int>(wanted.max_files())};
  }
  const v1::AuditSyslogConfig& syslog = wanted.syslog();
  if (!syslog.host().empty()) {
    options.syslog = {.host = syslog.host(),
                      .port = static_cast<int>(syslog.port()),
                      .ca_file = syslog.ca_file(),
                      .certificate_file = syslog.certificate_file(),
                      .private_key_file = syslog.private_key_file()};
  }
  return audit::Trail::Open(options);
}

}  // namespace isocenter::daemon
