// The room that spool files take: what is used, and which files of ended jobs make way, and when.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_clock.h"
#include "server/base/try_again.h"
#include "server/spool/file.h"
#include "server/spool/spool.h"

namespace isocenter::spool {
namespace {

// After a file could not be removed: a disk that fails is not asked without pause.
constexpr absl::Duration kRemoveAgain = absl::Minutes(1);

}  // namespace

absl::Status Spool::MakeRoom(const std::string& job_id, int64_t needed, int64_t spared) {
  ReclaimExpired();
  for (;;) {
    ISO_ASSIGN_OR_RETURN(const jobs::Disk disk, options_.disk());
    const SpoolUsage usage = Count();
    FollowDisk(disk, usage.used_bytes);
    const auto fits = [&](int64_t reclaimed) {
      return (capacity_bytes_ == 0 || needed <= capacity_bytes_ - usage.used_bytes + reclaimed) &&
             needed + spared <= disk.free_bytes + reclaimed;
    };
    if (fits(0)) return absl::OkStatus();
    const auto oldest = OldestReclaimable();
    if (!fits(usage.reclaimable_bytes) || oldest == entries_.end() || !Reclaim(oldest)) {
      const std::string lack = absl::StrCat(
          "the spool ", options_.directory.string(), " has no room for job ", job_id, ": ",
          BytesText(needed), " are needed, ", BytesText(disk.free_bytes), " are free on the disk, ",
          BytesText(spared), " are promised there to results, ", BytesText(usage.used_bytes),
          " are used",
          capacity_bytes_ == 0 ? std::string()
                               : absl::StrCat(" of ", BytesText(capacity_bytes_), " that may be (",
                                              options_.capacity_source, ")"),
          ", ", BytesText(usage.reclaimable_bytes), " of them reclaimable");
      const bool never_fits =
          needed > disk.total_bytes || (capacity_bytes_ > 0 && needed > capacity_bytes_);
      if (!never_fits) {
        return FullForNow(absl::StrCat(lack, "; try again when other jobs have ended"));
      }
      return absl::ResourceExhaustedError(
          absl::StrCat(lack, "; fewer or smaller frames take less"));
    }
  }
}

void Spool::FollowDisk(const jobs::Disk& disk, int64_t used_bytes) {
  if (!options_.capacity_follows_disk) return;
  capacity_bytes_ = std::max(capacity_bytes_, (disk.free_bytes + used_bytes) / options_.shares);
}

Spool::Entries::iterator Spool::OldestReclaimable() {
  auto oldest = entries_.end();
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    if (it->second.is_reclaimable() &&
        (oldest == entries_.end() || it->second.released_at < oldest->second.released_at)) {
      oldest = it;
    }
  }
  return oldest;
}

absl::StatusOr<jobs::SpoolDisk> Spool::GetDisk() const {
  ISO_ASSIGN_OR_RETURN(const jobs::Disk disk, options_.disk());
  return jobs::SpoolDisk{disk, usage().reclaimable_bytes};
}

void Spool::FreeDisk(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  const absl::StatusOr<jobs::Disk> disk = options_.disk();
  if (!disk.ok()) return;
  int64_t lacking = bytes - disk->free_bytes;
  if (lacking > Count().reclaimable_bytes) return;
  while (lacking > 0) {
    const auto oldest = OldestReclaimable();
    if (oldest == entries_.end()) return;
    lacking -= oldest->second.bytes;
    if (!Reclaim(oldest)) return;
  }
}

SpoolUsage Spool::Count() const {
  SpoolUsage usage;
  usage.capacity_bytes = capacity_bytes_;
  usage.unsynced_bytes = committer_.unsynced_bytes();
  usage.last_sync_seconds = last_sync_seconds_;
  for (const auto& [id, entry] : entries_) {
    usage.used_bytes += entry.bytes;
    if (entry.is_reclaimable()) usage.reclaimable_bytes += entry.bytes;
    if (!entry.being_created) ++usage.jobs;
  }
  return usage;
}

SpoolUsage Spool::usage() const {
  absl::MutexLock lock(&mutex_);
  return Count();
}

bool Spool::Reclaim(Entries::iterator entry) {
  if (!UnlinkAndFree(entry->second.path)) {
    entry->second.not_before = options_.clock() + kRemoveAgain;
    return false;
  }
  entries_.erase(entry);
  return true;
}

absl::Time Spool::ExpiryOf(const Entry& entry) const {
  return std::max(entry.released_at + options_.retention, entry.not_before);
}

absl::Time Spool::ReclaimExpired() {
  const absl::Time now = options_.clock();
  absl::Time next = absl::InfiniteFuture();
  for (auto it = entries_.begin(); it != entries_.end();) {
    const auto entry = it++;
    if (!entry->second.is_reclaimable()) continue;
    const bool is_due = ExpiryOf(entry->second) <= now;
    if (is_due && Reclaim(entry)) continue;
    next = std::min(next, ExpiryOf(entry->second));
  }
  return next;
}

void Spool::KeepHouse() {
  const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || house_changed_;
  };
  absl::MutexLock lock(&mutex_);
  while (!stopping_) {
    house_changed_ = false;
    const absl::Time next = ReclaimExpired();
    AwaitFor(mutex_, absl::Condition(&has_work), next - options_.clock());
  }
}

void Spool::OnClose() {
  absl::MutexLock lock(&mutex_);
  house_changed_ = true;
}

}  // namespace isocenter::spool
