// The audit trail of the service: a file, a repository, or both.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/audit/audit_file.h"
#include "server/audit/event.h"
#include "server/audit/syslog_sender.h"

namespace isocenter::audit {

struct TrailOptions {
  std::optional<FileOptions> file;
  std::optional<SyslogOptions> syslog;
  std::string source = "isocenter";  // names this installation in messages
};

/// Thread-safe. A record is in the file when Record() returns; a file that cannot be written to is
/// told in the log when that begins.
class Trail : public Recorder {
 public:
  /// Errors: those of AuditFile::Open and SyslogSender::Start.
  static absl::StatusOr<std::unique_ptr<Trail>> Open(const TrailOptions& options);
  void Record(Event event) override;

 private:
  Trail(std::optional<AuditFile> file, std::unique_ptr<SyslogSender> syslog);

  const std::unique_ptr<SyslogSender> syslog_;  // may be null
  absl::Mutex mutex_;
  std::optional<AuditFile> file_ ABSL_GUARDED_BY(mutex_);
  bool file_failed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace isocenter::audit
