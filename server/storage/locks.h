// Locks between processes, which the kernel releases when their holder ends, however it ends.
#pragma once

#include <filesystem>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::storage {

/// Keeps other processes out for as long as it lives. Movable.
class Lock {
 public:
  /// Of a directory, by the file `lock` in it. Errors: FAILED_PRECONDITION when another process
  /// holds it; FileError.
  static absl::StatusOr<Lock> OfDirectory(const std::filesystem::path& directory);
  /// Of a file, whether it is there or not, by one beside it that is named FILE.lock: it stays the
  /// same one when the file is renamed and made anew. Errors: as above.
  static absl::StatusOr<Lock> OfFile(const std::filesystem::path& file);
  Lock(Lock&& other) noexcept;
  Lock& operator=(Lock&&) = delete;
  ~Lock();

 private:
  explicit Lock(int descriptor) : descriptor_(descriptor) {}
  static absl::StatusOr<Lock> Take(const std::filesystem::path& path,
                                   const std::filesystem::path& guarded, absl::string_view kind);
  int descriptor_;
};

/// The file that locks a directory; it stays there.
std::filesystem::path LockOfDirectory(const std::filesystem::path& directory);

/// The process that holds a lock now; nothing: none does, or it may not be looked at. Makes
/// nothing.
std::optional<int> HolderOfDirectory(const std::filesystem::path& directory);
std::optional<int> HolderOfFile(const std::filesystem::path& file);

/// What is said of a directory or file ("directory", "file") that somebody else has; `process` may
/// be unknown.
absl::Status InUse(const std::filesystem::path& guarded, std::optional<int> process,
                   absl::string_view kind);

}  // namespace isocenter::storage
