// Audit records as JSON lines in a file that is renamed when it has grown. docs/audit.md describes
// the members of a line.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/audit/event.h"

namespace isocenter::audit {

struct FileOptions {
  std::string path;
  uint64_t max_bytes = 64 << 20;  // then it becomes PATH.1, and PATH.1 becomes PATH.2
  int max_files = 100;            // renamed ones that are kept
};

/// One event as a line of JSON, without the line's end.
std::string ToJsonLine(const Event& event);

/// Not thread-safe.
class AuditFile {
 public:
  /// Creates the file, readable by its owner only, or appends to it. Errors: PERMISSION_DENIED,
  /// NOT_FOUND (its directory), and what else opening a file may give, with the path.
  static absl::StatusOr<AuditFile> Open(FileOptions options);
  AuditFile(AuditFile&& other) noexcept;
  AuditFile& operator=(AuditFile&&) = delete;
  ~AuditFile();

  /// Appends a line in one write, so that a crash tears at most the last line. Errors:
  /// RESOURCE_EXHAUSTED (disk full) and others; the next write tries again.
  absl::Status Write(const std::string& line);

 private:
  AuditFile(FileOptions options, int descriptor, uint64_t bytes);
  absl::Status Reopen();
  /// Renames the files; the current one is closed.
  void Rotate();

  FileOptions options_;
  int descriptor_;  // -1: to be opened
  uint64_t bytes_;
};

}  // namespace isocenter::audit
