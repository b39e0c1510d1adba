// Devices as slots, and who is let in.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/scheduler/lane_executor.h"
#include "server/scheduler/memory_budget.h"

namespace isocenter::scheduler {

/// Moving average of how fast a device computes whole jobs. Large jobs count more than small ones,
/// whose time goes into other things than voxel updates. Thread-safe.
class SpeedEstimate {
 public:
  /// One job; ignored unless both are above 0.
  void Add(double voxel_updates, double seconds);
  /// Computing time of so many voxel updates, 0 while nothing has been measured.
  double PredictSeconds(double voxel_updates) const;

 private:
  mutable absl::Mutex mutex_;
  // Sums over the jobs, in which older ones fade.
  double updates_ ABSL_GUARDED_BY(mutex_) = 0;
  double seconds_ ABSL_GUARDED_BY(mutex_) = 0;
};

/// One device, or several that share each job: its memory, its thread and its measured speed. A job
/// stays on its slot.
struct DeviceSlot {
  /// `thread_name` as in LaneExecutor. `host_memory`, which outlives the slot: what its jobs hold
  /// in the host's memory; null for a device that has no other.
  DeviceSlot(std::string name, int64_t memory_bytes, const std::string& thread_name,
             MemoryBudget* host_memory = nullptr)
      : name(std::move(name)),
        memory(memory_bytes),
        host_memory(host_memory == nullptr ? memory : *host_memory),
        lanes(thread_name) {}

  const std::string name;  // "cpu0"; label of metrics
  MemoryBudget memory;
  MemoryBudget& host_memory;
  SpeedEstimate speed;
  LaneExecutor lanes;
};

class Scheduler;

/// A place among the active jobs and memory of a slot; all is given back when destroyed.
class Admission {
 public:
  Admission() = default;
  Admission(Admission&& other) noexcept { *this = std::move(other); }
  Admission& operator=(Admission&& other) noexcept;
  ~Admission();

  /// Gives back all but `host_bytes` of host memory.
  void ShrinkToHost(int64_t host_bytes);

 private:
  friend class Scheduler;
  Admission(Scheduler* scheduler, Reservation device_memory, Reservation host_memory)
      : scheduler_(scheduler),
        device_memory_(std::move(device_memory)),
        host_memory_(std::move(host_memory)) {}
  Scheduler* scheduler_ = nullptr;
  Reservation device_memory_;  // empty where the device has the host's
  Reservation host_memory_;
};

/// Thread-safe. Must outlive its admissions.
class Scheduler {
 public:
  /// At least one slot.
  Scheduler(std::vector<std::unique_ptr<DeviceSlot>> slots, int max_active_jobs)
      : slots_(std::move(slots)), max_active_jobs_(max_active_jobs) {}

  const std::vector<std::unique_ptr<DeviceSlot>>& slots() const { return slots_; }
  /// The slot with the most free memory; ties go to the first.
  int EmptiestSlot() const;

  /// Errors: RESOURCE_EXHAUSTED naming what is needed and what is free (jobs or bytes).
  absl::StatusOr<Admission> Admit(int slot, int64_t device_bytes, int64_t host_bytes);

  int active_jobs() const;
  /// Units that wait on all slots.
  int64_t queue_depth() const;

 private:
  friend class Admission;
  void Leave();

  const std::vector<std::unique_ptr<DeviceSlot>> slots_;
  const int max_active_jobs_;
  mutable absl::Mutex mutex_;
  int active_jobs_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace isocenter::scheduler
