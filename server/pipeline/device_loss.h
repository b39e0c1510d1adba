// What becomes of slots and jobs when a device fails.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "server/jobs/ports.h"
#include "server/pipeline/active_jobs.h"
#include "server/pipeline/run_maker.h"
#include "server/scheduler/scheduler.h"

namespace isocenter::pipeline {

/// Makes a device fail, for tests of what happens then.
struct DeviceFault {
  std::string slot;  // "cpu0"
  int chunks = 0;    // that it computes before
};

/// Puts the slots of lost devices into quarantine, and sees to it that their jobs find other
/// places. Thread-safe.
class DeviceLoss {
 public:
  struct Options {
    std::optional<DeviceFault> fault;
    /// Called once, when the last healthy slot is gone; from any thread.
    std::function<void()> no_device_left;
    /// Jobs wait for a place.
    std::function<void()> seek_places;
  };
  /// All outlive this object.
  DeviceLoss(scheduler::Scheduler& scheduler, jobs::JobObserver& observer, RunMaker& runs,
             ActiveJobs& active, Options options)
      : scheduler_(scheduler),
        observer_(observer),
        runs_(runs),
        active_(active),
        options_(std::move(options)) {}

  /// Before each unit of work, on the slot's thread: plants the fault when it is due.
  absl::Status BeforeUnit(const RunPlace& place);
  /// A unit has failed: a device of its place is lost.
  void OnDeviceLost(const RunPlace& place, const absl::Status& why);
  /// A device turned out to be lost when a run was made on its slot.
  void OnSlotLost(scheduler::DeviceSlot& slot, const absl::Status& why);

 private:
  /// Once for each.
  void Quarantine(scheduler::DeviceSlot& slot, const absl::Status& why);
  void ReplaceRuns();

  scheduler::Scheduler& scheduler_;
  jobs::JobObserver& observer_;
  RunMaker& runs_;
  ActiveJobs& active_;
  const Options options_;
  std::atomic<int> chunks_on_faulty_slot_{0};
  std::atomic<bool> reported_{false};  // that no device is left
};

}  // namespace isocenter::pipeline
