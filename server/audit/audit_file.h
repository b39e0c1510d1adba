// Audit records as JSON lines in a file that is closed when it has grown. docs/audit.md describes
// the files and the members of a line.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/audit/chain.h"
#include "server/audit/event.h"
#include "server/audit/trail_files.h"
#include "server/storage/locks.h"

namespace isocenter::audit {

struct FileOptions {
  std::string path;
  uint64_t max_bytes = 64 << 20;  // then it is closed
  int max_files = 100;            // closed ones that may be there
  /// The number of the last record that has been exported; null: none ever is.
  std::function<int64_t()> exported;
  std::function<absl::Time()> clock = absl::Now;
};

/// What the files take of what they may take.
struct Fill {
  uint64_t used_bytes = 0, limit_bytes = 0;
};

/// Whether AuditFile::Open could open this file, as far as can be seen without making or changing
/// anything; `replaced` is a process that may have it now because it will have ended by then.
/// Errors: its own.
absl::Status CheckFile(const std::string& path, std::optional<int> replaced = std::nullopt);

/// Not thread-safe.
class AuditFile {
 public:
  /// Creates the file, readable by its owner only, and its directory, or goes on behind its last
  /// record. What a crash has left of a record, and other bytes that are none, are kept and stated
  /// by a record of their own. For as long as it lives no other process can open it, whatever it is
  /// renamed to meanwhile. Errors: PERMISSION_DENIED, FAILED_PRECONDITION (another process writes
  /// to it), and what else making a directory or opening a file may give, with the field
  /// `audit.file` and the path.
  static absl::StatusOr<AuditFile> Open(FileOptions options);
  AuditFile(AuditFile&& other) noexcept;
  AuditFile& operator=(AuditFile&&) = delete;
  ~AuditFile();

  /// Appends a record in one write, so that a crash tears at most the last line. The event is
  /// bounded (bounds.h). Errors: RESOURCE_EXHAUSTED (the disk is full, or max_files closed files
  /// are there and the oldest has not been exported) and others; the next write tries again.
  absl::Status Write(const Event& event);

  /// Finds out which closed files have been collected, and whether the open one was taken away:
  /// then the next write begins another.
  void Look();

  /// That of the last record.
  const Link& last() const { return last_; }
  Fill fill() const;

 private:
  AuditFile(FileOptions options, storage::Lock lock)
      : options_(std::move(options)), lock_(std::move(lock)) {}
  absl::Status Reopen();
  /// Finds `last_` and `first_` in a file that is not empty, and what has to be stated of its end.
  absl::Status FindEnd();
  /// Puts a file aside in which no record is, and creates another.
  absl::Status PutAside();
  void State(std::string what, int64_t torn_bytes);
  void StateTorn(int64_t bytes);
  absl::Status Append(const Event& event);
  absl::Status WriteText(const std::string& text);
  absl::Status Rotate();
  /// Makes room for one more closed file.
  absl::Status MakeRoom();

  FileOptions options_;
  storage::Lock lock_;
  int descriptor_ = -1;  // -1: to be opened
  uint64_t bytes_ = 0;
  int64_t first_ = 0;  // of the file's records; 0: it has none
  Link last_;
  std::optional<Event> statement_;  // to be written before the next record
  bool ends_torn_ = false;          // the file, with a line that has no end
  std::vector<ClosedFile> closed_;
  absl::Time looked_ = absl::InfinitePast();  // for files that have been collected
};

}  // namespace isocenter::audit
