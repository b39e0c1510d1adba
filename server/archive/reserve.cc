#include "server/archive/reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "absl/base/const_init.h"
#include "absl/synchronization/mutex.h"
#include "server/base/log.h"
#include "server/storage/files.h"

namespace isocenter::archive {
namespace {

namespace fs = std::filesystem;

// A delete writes some hundred pages of 4 KiB, and SQLite's log has 4 MiB before it is used again.
constexpr uint64_t kMostBytes = 16 << 20;
constexpr uint64_t kShareOfDisk = 16;
constexpr uint64_t kSteps = 4;
constexpr uint64_t kFreeBesides = 4;

// One process uses an archive, but has several connections to its index.
ABSL_CONST_INIT absl::Mutex mutex(absl::kConstInit);

/// The file, open; closes itself.
class ReserveFile {
 public:
  ReserveFile(const fs::path& directory, int flags)
      : descriptor_(open((directory / "reserve").c_str(), O_RDWR | O_CLOEXEC | flags, 0600)) {}
  ReserveFile(const ReserveFile&) = delete;
  ReserveFile& operator=(const ReserveFile&) = delete;
  ~ReserveFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  bool is_open() const { return descriptor_ >= 0; }
  uint64_t size() const {
    struct stat about {};
    return fstat(descriptor_, &about) == 0 ? static_cast<uint64_t>(about.st_size) : 0;
  }
  bool Grow(uint64_t size) {
    return posix_fallocate(descriptor_, 0, static_cast<off_t>(size)) == 0;
  }
  bool Cut(uint64_t size) { return ftruncate(descriptor_, static_cast<off_t>(size)) == 0; }

 private:
  const int descriptor_;
};

}  // namespace

uint64_t ReserveBytes(const fs::path& directory) {
  struct statvfs about {};
  if (statvfs(directory.c_str(), &about) != 0) return 0;
  return std::min(kMostBytes, uint64_t{about.f_blocks} * about.f_frsize / kShareOfDisk);
}

void FillReserve(const fs::path& directory) {
  const uint64_t wanted = ReserveBytes(directory);
  const absl::MutexLock lock(&mutex);
  ReserveFile file(directory, O_CREAT);
  if (!file.is_open() || file.size() >= wanted) return;
  const uint64_t before = file.size();
  const absl::StatusOr<uint64_t> free = storage::FreeBytes(directory);
  if (!free.ok() || *free < kFreeBesides * (wanted - before)) return;
  // What was taken before the disk refused the rest would be room that no one can count on.
  if (!file.Grow(wanted)) file.Cut(before);
}

bool ReleaseReserve(const fs::path& directory) {
  const absl::MutexLock lock(&mutex);
  ReserveFile file(directory, 0);
  if (!file.is_open()) return false;
  const uint64_t size = file.size();
  if (size == 0) return false;
  const uint64_t step = std::max(ReserveBytes(directory) / kSteps, uint64_t{1});
  const uint64_t left = size > step ? size - step : 0;
  if (!file.Cut(left)) return false;
  spdlog::warn("event=archive_reserve_released left_bytes={}", left);
  return true;
}

}  // namespace isocenter::archive
