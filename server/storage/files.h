// Files that survive a crash, and disks that are full.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::storage {

/// Status of a failed system call. A full disk, an exceeded quota or file size limit become
/// RESOURCE_EXHAUSTED and name the bytes that are free and the bytes that were to be written;
/// missing rights become PERMISSION_DENIED; all else INTERNAL.
absl::Status FileError(int error_number, absl::string_view action,
                       const std::filesystem::path& path, uint64_t needed_bytes = 0);

/// Bytes that this process may still write to the file system of `path`.
absl::StatusOr<uint64_t> FreeBytes(const std::filesystem::path& path);
/// That it could write there, were the file system empty.
absl::StatusOr<uint64_t> TotalBytes(const std::filesystem::path& path);

/// Which file system a path is on: a number that the paths of one share until it is unmounted.
absl::StatusOr<uint64_t> FileSystemOf(const std::filesystem::path& path);

/// RESOURCE_EXHAUSTED, naming free and needed bytes, when fewer than `needed_bytes` are free.
absl::Status CheckFreeBytes(const std::filesystem::path& path, uint64_t needed_bytes);

/// Writes the entries of a directory (names, not contents) to the disk.
absl::Status SyncDirectory(const std::filesystem::path& directory);

/// Writes all that a file system holds in memory to its disk. For hundreds of new files this takes
/// one journal commit, where syncing each would take hundreds.
absl::Status SyncFileSystem(const std::filesystem::path& directory);

/// A file that is being written. Movable; closes itself. Errors: see FileError.
class OutputFile {
 public:
  /// Creates the file, readable by this user only; fails when it exists. A `size` above 0 reserves
  /// that many bytes on the disk at once.
  static absl::StatusOr<OutputFile> Create(const std::filesystem::path& path, uint64_t size = 0);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  /// Writes both pieces one after the other at `offset`, in as few system calls as it takes.
  /// Thread-safe for ranges that do not overlap.
  absl::Status WriteAt(uint64_t offset, std::span<const std::byte> first,
                       std::span<const std::byte> second = {});
  /// Lets the disk begin to write what the file was given, without waiting for it.
  void StartWriteback();
  /// Returns when the file is on the disk; its name is when its directory is.
  absl::Status Sync();

 private:
  OutputFile(int descriptor, std::filesystem::path path);
  int descriptor_;
  std::filesystem::path path_;
};

}  // namespace isocenter::storage
