// Room on the archive's disk that is promised to jobs before they store their results.
#pragma once

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/jobs/frame_spool.h"
#include "server/jobs/ports.h"

namespace isocenter::scheduler {

class PromisedDisk;

/// Bytes that a job's result may take; given back when destroyed. Move-only, not thread-safe.
class DiskPromise {
 public:
  DiskPromise() = default;
  DiskPromise(DiskPromise&& other) noexcept { *this = static_cast<DiskPromise&&>(other); }
  DiskPromise& operator=(DiskPromise&& other) noexcept;
  ~DiskPromise() { GiveBack(); }

  int64_t bytes() const { return bytes_; }
  void GiveBack();

 private:
  friend class PromisedDisk;
  DiskPromise(PromisedDisk* disk, int64_t bytes) : disk_(disk), bytes_(bytes) {}
  PromisedDisk* disk_ = nullptr;
  int64_t bytes_ = 0;
};

/// What is free on the archive's disk, less what is promised of it. Where the spool is on the same
/// disk, the frames that it keeps of jobs that have ended count as free: they go when a promise
/// needs their room, and not before. Thread-safe. Outlives its promises.
class PromisedDisk {
 public:
  /// Both outlive it.
  PromisedDisk(const jobs::ResultStore& results, jobs::FrameSpool& spool)
      : results_(results), spool_(spool) {}

  /// Removes nothing. Errors: RESOURCE_EXHAUSTED naming the bytes that are needed, promised and
  /// free; INTERNAL.
  absl::StatusOr<DiskPromise> Reserve(int64_t bytes);
  /// For a job that had a promise when the service stopped: whether the room is there or not.
  DiskPromise Renew(int64_t bytes);
  /// Has kept frames make way until `bytes` are free, if that suffices.
  void FreeFromSpool(int64_t bytes);

  /// What Reserve would give. Errors: INTERNAL.
  absl::StatusOr<int64_t> room() const;
  int64_t promised() const;
  /// What of it the spool's disk has to have free: all or nothing.
  int64_t promised_on_spool() const;

 private:
  friend class DiskPromise;
  void GiveBack(int64_t bytes);
  /// What kept frames take of `disk`.
  int64_t ReclaimableOf(const jobs::Disk& disk) const;

  const jobs::ResultStore& results_;
  jobs::FrameSpool& spool_;
  mutable absl::Mutex mutex_;
  int64_t promised_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace isocenter::scheduler
