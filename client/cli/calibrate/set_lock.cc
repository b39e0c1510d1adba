#include "client/cli/calibrate/set_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace isocenter::cli {

absl::StatusOr<SetLock> SetLock::Take(const std::string& path) {
  while (true) {
    SetLock lock(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (lock.file_ < 0) return lock;  // who reads it says why
    if (flock(lock.file_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return lock;
      return absl::AbortedError(absl::StrCat(
          path, ": another `isocenter calibrate` adds to this set; try again when it has ended"));
    }
    // It may have been replaced between the two, and the lock is of what it was.
    struct stat held = {}, there = {};
    if (fstat(lock.file_, &held) != 0 || stat(path.c_str(), &there) != 0) return lock;
    if (held.st_ino == there.st_ino && held.st_dev == there.st_dev) return lock;
  }
}

SetLock::~SetLock() {
  if (file_ >= 0) close(file_);
}

SetLock::SetLock(SetLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

SetLock& SetLock::operator=(SetLock&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

}  // namespace isocenter::cli
