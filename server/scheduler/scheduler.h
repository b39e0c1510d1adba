// Devices as slots: which one suits a job, and who is let in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/jobs/job.h"
#include "server/scheduler/device_slot.h"
#include "server/scheduler/promised_memory.h"

namespace isocenter::scheduler {

class Scheduler;

/// A place among the active jobs and memory of slots; all is given back when destroyed. Move-only,
/// not thread-safe.
class Admission {
 public:
  Admission() = default;
  Admission(Admission&& other) noexcept { *this = std::move(other); }
  Admission& operator=(Admission&& other) noexcept;
  ~Admission();

  /// Gives back all but `host_bytes` of host memory.
  void ShrinkToHost(int64_t host_bytes);
  /// When the job is predicted to have ended; unknown until it is said, and may be said again. A
  /// refused job is told from it when to come again.
  void ExpectEnd(absl::Time end);

 private:
  friend class Scheduler;
  Admission(Scheduler* scheduler, int64_t id) : scheduler_(scheduler), id_(id) {}
  Scheduler* scheduler_ = nullptr;
  int64_t id_ = 0;
};

/// What a job needs of one slot's device.
struct SlotDemand {
  int slot = 0;  // index in Scheduler::slots()
  int64_t device_bytes = 0;
};

/// What a slot would do with a job.
struct Forecast {
  int slot = 0;
  absl::Duration wait;     // for the work that goes before it
  absl::Duration compute;  // its own
  absl::Duration finish() const { return wait + compute; }
};

/// Thread-safe. Must outlive its admissions.
class Scheduler {
 public:
  /// At least one slot.
  Scheduler(std::vector<std::unique_ptr<DeviceSlot>> slots, int max_active_jobs,
            std::function<absl::Time()> clock = absl::Now)
      : slots_(std::move(slots)), max_active_jobs_(max_active_jobs), clock_(std::move(clock)) {}

  const std::vector<std::unique_ptr<DeviceSlot>>& slots() const { return slots_; }

  /// The healthy slots, the one that is predicted to finish such a job first in front; ties go to
  /// more free memory, then to the first. Computing only: that frames have yet to arrive delays
  /// every slot alike.
  std::vector<Forecast> Rank(double voxel_updates, jobs::JobClass job_class) const;

  /// Admits a job that the given slots, at least one and each once, share; `host_bytes` are of the
  /// first one's host memory, and where a device's memory is the host's, both come from the same
  /// budget. All or nothing. Errors: UNAVAILABLE (a slot is in quarantine), RESOURCE_EXHAUSTED
  /// naming what is needed and what is free (jobs or bytes). The latter says when it could be
  /// accepted at the earliest (server/base/try_again.h), as far as those who hold what is missing
  /// have said when they end; not when it never fits. Beside other jobs a batch job leaves a
  /// quarter of the places and of each memory to the better classes.
  absl::StatusOr<Admission> Admit(std::span<const SlotDemand> slots, int64_t host_bytes,
                                  jobs::JobClass job_class = jobs::JobClass::kLive);
  absl::StatusOr<Admission> Admit(int slot, int64_t device_bytes, int64_t host_bytes,
                                  jobs::JobClass job_class = jobs::JobClass::kLive);

  /// `freed` is called whenever an admission has given something back, by the thread that did; it
  /// must be quick and take no lock under which admissions end. Empty: no longer, and when this
  /// returns, no such call is under way.
  void WhenFreed(std::function<void()> freed);

  int active_jobs() const;
  int healthy_slots() const;
  /// Units that wait on all slots.
  int64_t queue_depth() const;

 private:
  friend class Admission;
  struct Need {
    PromisedMemory* memory;
    int64_t bytes;
  };
  struct Holder {
    std::vector<MemoryPromise> memory;
    const PromisedMemory* host = nullptr;
    absl::Time end = absl::InfiniteFuture();
  };
  /// One need for each memory; the host's first.
  std::vector<Need> Needs(std::span<const SlotDemand> slots, int64_t host_bytes) const;
  /// Whether a batch job may have it.
  absl::Status LeaveRoom(const std::vector<Need>& needs) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// When all of it will be free, were nobody else admitted; InfiniteFuture when unknown or never.
  absl::Time EarliestRoom(const std::vector<Need>& needs) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Refuse(const absl::Status& reason, const std::vector<Need>& needs) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ShrinkToHost(int64_t id, int64_t host_bytes);
  void ExpectEnd(int64_t id, absl::Time end);
  void Leave(int64_t id);
  void TellFreed();

  const std::vector<std::unique_ptr<DeviceSlot>> slots_;
  const int max_active_jobs_;
  const std::function<absl::Time()> clock_;
  mutable absl::Mutex mutex_;
  std::map<int64_t, Holder> holders_ ABSL_GUARDED_BY(mutex_);  // one for each active job
  int64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;

  absl::Mutex freed_mutex_;
  std::function<void()> freed_ ABSL_GUARDED_BY(freed_mutex_);
};

}  // namespace isocenter::scheduler
