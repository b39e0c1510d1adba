// Where a job is computed.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "kernels/ops/device.h"
#include "server/scheduler/device_slot.h"

namespace isocenter::pipeline {

/// The devices of one slot share each of its jobs.
using SlotDevices = std::vector<ops::Device*>;

/// A slot as a run uses it; all of it outlives the run.
struct RunPlace {
  scheduler::DeviceSlot& slot;
  SlotDevices devices;  // of several slots where one does not do; then `slot` is the first
  /// Waits for what the devices still do after the last chunk, so that the slot's thread need not.
  scheduler::LaneExecutor& completer;
  std::function<absl::Time()> clock;
};

}  // namespace isocenter::pipeline
