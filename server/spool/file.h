// An open spool file: whole reads and writes at given places.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace isocenter::spool {

/// A piece of a file's contents.
inline iovec Piece(std::span<const std::byte> bytes) {
  // The system's type serves reads and writes; a write does not change the bytes.
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

/// Thread-safe for ranges that do not overlap. Errors of all functions: those of
/// storage::FileError.
class File {
 public:
  /// Makes a file for this user only, with disk space for all of its `bytes`, which read as zero.
  /// Errors: RESOURCE_EXHAUSTED; nothing is left then.
  static absl::StatusOr<std::shared_ptr<File>> Create(const std::filesystem::path& path,
                                                      int64_t bytes);
  static absl::StatusOr<std::shared_ptr<File>> Open(const std::filesystem::path& path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Writes the pieces one after the other, in as few system calls as it takes.
  absl::Status Write(int64_t offset, std::vector<iovec> pieces);
  /// Fills the pieces one after the other. Errors: DATA_LOSS (the file ends before).
  absl::Status Read(int64_t offset, std::vector<iovec> pieces) const;
  absl::StatusOr<int64_t> Bytes() const;

  /// Waits until all that was written is on the disk.
  absl::Status Sync();
  /// Lets the disk begin to write a range, without waiting for it. A hint.
  void StartWriteback(int64_t offset, int64_t bytes);

  /// Once a sync has failed, the system may have dropped what was written, and the next sync
  /// succeeds all the same: the file is not to be trusted with anything more.
  void SetError(absl::Status error) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status error() const ABSL_LOCKS_EXCLUDED(mutex_);

  int descriptor() const { return descriptor_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  File(int descriptor, std::filesystem::path path);

  const int descriptor_;
  const std::filesystem::path path_;
  mutable absl::Mutex mutex_;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::spool
