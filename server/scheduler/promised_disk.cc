#include "server/scheduler/promised_disk.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"
#include "server/base/try_again.h"

namespace isocenter::scheduler {

DiskPromise& DiskPromise::operator=(DiskPromise&& other) noexcept {
  std::swap(disk_, other.disk_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void DiskPromise::GiveBack() {
  if (disk_ != nullptr) disk_->GiveBack(bytes_);
  disk_ = nullptr;
  bytes_ = 0;
}

absl::StatusOr<DiskPromise> PromisedDisk::Reserve(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  ISO_ASSIGN_OR_RETURN(const jobs::Disk disk, results_.GetDisk());
  const int64_t reclaimable = ReclaimableOf(disk);
  if (bytes > disk.free_bytes + reclaimable - promised_) {
    if (bytes > disk.total_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the disk has no room: ", BytesText(bytes), " are needed for the result, ",
                       BytesText(disk.total_bytes), " are all it holds; fewer voxels take less"));
    }
    return FullForNow(absl::StrCat(
        "the disk has no room: ", BytesText(bytes), " are needed for the result, ",
        BytesText(promised_), " are promised to other jobs, ", BytesText(disk.free_bytes),
        " are free",
        reclaimable > 0
            ? absl::StrCat(", frames of ended jobs take ", BytesText(reclaimable), " more")
            : "",
        "; fewer voxels take less, or try again when results have been deleted"));
  }
  promised_ += bytes;
  return DiskPromise(this, bytes);
}

DiskPromise PromisedDisk::Renew(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  promised_ += bytes;
  return DiskPromise(this, bytes);
}

void PromisedDisk::FreeFromSpool(int64_t bytes) {
  const absl::StatusOr<jobs::Disk> disk = results_.GetDisk();
  if (disk.ok() && ReclaimableOf(*disk) > 0) spool_.FreeDisk(bytes);
}

int64_t PromisedDisk::ReclaimableOf(const jobs::Disk& disk) const {
  const absl::StatusOr<jobs::SpoolDisk> spool = spool_.GetDisk();
  return spool.ok() && spool->disk.id == disk.id ? spool->reclaimable_bytes : 0;
}

absl::StatusOr<int64_t> PromisedDisk::room() const {
  absl::MutexLock lock(&mutex_);
  ISO_ASSIGN_OR_RETURN(const jobs::Disk disk, results_.GetDisk());
  return disk.free_bytes + ReclaimableOf(disk) - promised_;
}

int64_t PromisedDisk::promised() const {
  absl::MutexLock lock(&mutex_);
  return promised_;
}

int64_t PromisedDisk::promised_on_spool() const {
  const absl::StatusOr<jobs::Disk> disk = results_.GetDisk();
  const absl::StatusOr<jobs::SpoolDisk> spool = spool_.GetDisk();
  return disk.ok() && spool.ok() && disk->id == spool->disk.id ? promised() : 0;
}

void PromisedDisk::GiveBack(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  promised_ -= bytes;
}

}  // namespace isocenter::scheduler
