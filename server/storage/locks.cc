#include "server/storage/locks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/storage/files.h"

namespace isocenter::storage {
namespace {

namespace fs = std::filesystem;

fs::path LockOfFile(const fs::path& file) { return file.string() + ".lock"; }

/// What the holder has written of itself.
std::optional<int> ProcessIn(int descriptor) {
  std::string holder(20, '\0');
  holder.resize(std::max<ssize_t>(0, pread(descriptor, holder.data(), holder.size(), 0)));
  int process = 0;
  return absl::SimpleAtoi(holder, &process) ? std::optional(process) : std::nullopt;
}

std::optional<int> HolderOf(const fs::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::optional<int> holder;
  if (flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    holder = ProcessIn(descriptor);
  }
  close(descriptor);
  return holder;
}

}  // namespace

fs::path LockOfDirectory(const fs::path& directory) { return directory / "lock"; }

absl::Status InUse(const fs::path& guarded, std::optional<int> process, absl::string_view kind) {
  return absl::FailedPreconditionError(absl::StrCat(
      guarded.string(), " is in use by another process",
      process ? absl::StrCat(" (", *process, ")") : "", "; legal is one service for each ", kind));
}

absl::StatusOr<Lock> Lock::Take(const fs::path& path, const fs::path& guarded,
                                absl::string_view kind) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return FileError(errno, "open", path);
  Lock lock(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    // For whoever comes second. Nothing depends on it.
    const std::string holder = absl::StrCat(getpid(), "\n");
    if (ftruncate(descriptor, 0) == 0) (void)!pwrite(descriptor, holder.data(), holder.size(), 0);
    return lock;
  }
  if (errno != EWOULDBLOCK) return FileError(errno, "lock", path);
  return InUse(guarded, ProcessIn(descriptor), kind);
}

absl::StatusOr<Lock> Lock::OfDirectory(const fs::path& directory) {
  return Take(LockOfDirectory(directory), directory, "directory");
}

absl::StatusOr<Lock> Lock::OfFile(const fs::path& file) {
  return Take(LockOfFile(file), file, "file");
}

Lock::Lock(Lock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Lock::~Lock() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<int> HolderOfDirectory(const fs::path& directory) {
  return HolderOf(LockOfDirectory(directory));
}

std::optional<int> HolderOfFile(const fs::path& file) { return HolderOf(LockOfFile(file)); }

}  // namespace isocenter::storage
