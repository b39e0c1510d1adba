// Calibrations in memory: each once, however many jobs use it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/ops/calibration.h"
#include "server/jobs/calibrations.h"
#include "server/scheduler/promised_memory.h"

namespace isocenter::pipeline {

/// Not thread-safe: of the thread that makes runs. What it has given may outlive it.
class LoadedCalibrations {
 public:
  /// Null: none are kept. Both outlive all that is given.
  LoadedCalibrations(jobs::CalibrationStore* store, scheduler::PromisedMemory& host_memory)
      : store_(store), host_memory_(host_memory) {}

  /// Errors: NOT_FOUND, DATA_LOSS (it is damaged), RESOURCE_EXHAUSTED (memory), INTERNAL.
  absl::StatusOr<std::shared_ptr<const ops::Calibration>> Get(const jobs::UsedCalibration& used);

 private:
  absl::StatusOr<std::shared_ptr<const ops::Calibration>> Load(const jobs::UsedCalibration& used);

  jobs::CalibrationStore* const store_;
  scheduler::PromisedMemory& host_memory_;
  std::map<std::pair<std::string, uint32_t>, std::weak_ptr<const ops::Calibration>>
      loaded_;  // by name and checksum
};

}  // namespace isocenter::pipeline
