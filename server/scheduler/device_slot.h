// A device as the scheduler sees it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/scheduler/backlog.h"
#include "server/scheduler/cost_model.h"
#include "server/scheduler/lane_executor.h"
#include "server/scheduler/promised_memory.h"

namespace isocenter::scheduler {

/// One device, or several that share each job: its memory, its thread, its measured speed and what
/// it has still to compute. Thread-safe.
class DeviceSlot {
 public:
  /// `thread_name` as in LaneExecutor. `host_memory`, which outlives the slot: what its jobs hold
  /// in the host's memory; null for a device that has no other. `updates_per_second` as in
  /// CostModel; the default is what a few CPU cores do (docs/performance.md).
  DeviceSlot(std::string name, int64_t memory_bytes, const std::string& thread_name,
             PromisedMemory* host_memory = nullptr, double updates_per_second = 1e9)
      : name(std::move(name)),
        memory(memory_bytes),
        host_memory(host_memory == nullptr ? memory : *host_memory),
        cost(updates_per_second),
        lanes(thread_name) {}

  /// The device is lost: from now on it is neither ranked nor admitted to. What is in its lanes
  /// stays there, for the jobs to end. The first reason is kept. Only a restart heals it.
  void Quarantine(const std::string& reason);
  bool healthy() const;
  /// Empty while healthy.
  std::string quarantine_reason() const;

  const std::string name;  // "cpu0"; label of metrics
  PromisedMemory memory;
  PromisedMemory& host_memory;
  CostModel cost;
  Backlog backlog;

 private:
  mutable absl::Mutex mutex_;
  bool healthy_ ABSL_GUARDED_BY(mutex_) = true;
  std::string quarantine_reason_ ABSL_GUARDED_BY(mutex_);

 public:
  LaneExecutor lanes;  // last: its thread ends before what it uses
};

}  // namespace isocenter::scheduler
