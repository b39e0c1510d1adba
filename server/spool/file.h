// An open spool file: whole reads and writes at given places.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
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

/// Whether no file of that name is left; else errno says why.
bool Unlink(const std::filesystem::path& path);

/// As Unlink, for a file that nobody reads. Its space is free at once, although a sync that is due
/// keeps the file open for a while.
bool UnlinkAndFree(const std::filesystem::path& path);

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

  /// Waits until all that was written is on the disk. `sync` is fdatasync, or what a test puts in
  /// its place. Once one has failed, this and all later ones fail: the system may have dropped what
  /// it could not write, and would report success the next time.
  absl::Status Sync(const std::function<int(int descriptor)>& sync)
      ABSL_LOCKS_EXCLUDED(syncing_, mutex_);
  /// That of the sync that has failed.
  absl::Status error() const ABSL_LOCKS_EXCLUDED(mutex_);
  /// Lets the disk begin to write a range, without waiting for it. A hint.
  void StartWriteback(int64_t offset, int64_t bytes);

  const std::filesystem::path& path() const { return path_; }

 private:
  File(int descriptor, std::filesystem::path path);

  const int descriptor_;
  const std::filesystem::path path_;
  // One sync at a time: the system reports an error to one of those that wait for it only.
  absl::Mutex syncing_;
  mutable absl::Mutex mutex_;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::spool
