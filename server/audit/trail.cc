#include "server/audit/trail.h"

#include <utility>

#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"

namespace isocenter::audit {

absl::StatusOr<std::unique_ptr<Trail>> Trail::Open(const TrailOptions& options) {
  std::optional<AuditFile> file;
  if (options.file) {
    ISO_ASSIGN_OR_RETURN(AuditFile opened, AuditFile::Open(*options.file));
    file.emplace(std::move(opened));
  }
  std::unique_ptr<SyslogSender> syslog;
  if (options.syslog) {
    ISO_ASSIGN_OR_RETURN(syslog, SyslogSender::Start(*options.syslog, options.source));
  }
  return std::unique_ptr<Trail>(new Trail(std::move(file), std::move(syslog)));
}

Trail::Trail(std::optional<AuditFile> file, std::unique_ptr<SyslogSender> syslog)
    : syslog_(std::move(syslog)), file_(std::move(file)) {}

void Trail::Record(Event event) {
  if (event.time == absl::InfinitePast()) event.time = absl::Now();
  if (syslog_ != nullptr) syslog_->Send(event);
  absl::MutexLock lock(&mutex_);
  if (!file_) return;
  const absl::Status written = file_->Write(ToJsonLine(event));
  if (!written.ok() && !file_failed_) {
    spdlog::error("audit: {}; records are lost until it can be written to", written.ToString());
  }
  if (written.ok() && file_failed_) spdlog::warn("audit: the file can be written to again");
  file_failed_ = !written.ok();
}

}  // namespace isocenter::audit
