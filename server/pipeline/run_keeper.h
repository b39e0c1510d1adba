// What runs of every kind need of whoever keeps the devices and the disk.
#pragma once

#include "absl/status/status.h"
#include "kernels/geometry/volume_grid.h"
#include "server/pipeline/run_place.h"

namespace isocenter::pipeline {

/// Called from any thread.
class RunKeeper {
 public:
  virtual ~RunKeeper() = default;
  /// Before a result is stored: takes disk space from what matters less, if need be. Errors:
  /// RESOURCE_EXHAUSTED.
  virtual absl::Status MakeRoomFor(const VolumeGrid& grid) = 0;
  /// Before each unit of work, on the slot's thread. An error is the device's.
  virtual absl::Status BeforeUnit(const RunPlace& place) = 0;
  /// A device of a run is lost. Its job waits for another run.
  virtual void OnDeviceLost(const RunPlace& place, const absl::Status& why) = 0;
};

}  // namespace isocenter::pipeline
