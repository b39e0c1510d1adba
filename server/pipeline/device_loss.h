// What becomes of slots and jobs when a device fails.
#pragma once

#include <atomic>

#include "absl/status/status.h"
#include "server/pipeline/engine_environment.h"

namespace isocenter::pipeline {

/// Puts the slots of lost devices into quarantine, and sees to it that their jobs find other
/// places. Thread-safe.
class DeviceLoss {
 public:
  explicit DeviceLoss(const EngineParts& parts) : parts_(parts) {}

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

  const EngineParts& parts_;
  std::atomic<int> chunks_on_faulty_slot_{0};
  std::atomic<bool> reported_{false};  // that no device is left
};

}  // namespace isocenter::pipeline
