// All backends that this build has.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/ops/registry.h"

namespace isocenter {

/// The registry with every backend of this build: "reference", "cpu", "cuda" where nvcc built it,
/// and "gles", which reconstructs fan beams alone, where the headers of OpenGL ES were.
const ops::Registry& Backends();

/// Devices of one backend and, for the operator, one sentence on why it was chosen.
struct ChosenDevices {
  std::vector<std::unique_ptr<ops::Device>> devices;
  std::string reason;
  std::vector<absl::Status> failures;  // of devices that are there and could not be opened
};

/// What is wanted of the devices of a backend that has the host's memory, and of one whose devices
/// have their own.
struct WantedDevices {
  ops::DeviceLimits host{.threads = 0};  // one per core
  ops::DeviceLimits own_memory;
  int count = 1;  // with memory of their own, if there are so many; 0: all
};

/// Opens devices of `backend`, or, when it is empty, of the fastest that this machine has: CUDA,
/// else the CPU. What there is and works is opened: a machine that has lost one of its GPUs
/// computes on the others. Errors, when that is none: NOT_FOUND (no such backend; all are listed),
/// UNAVAILABLE (no such device), those of the first device.
absl::StatusOr<ChosenDevices> OpenDevices(absl::string_view backend, const WantedDevices& wanted,
                                          const ops::Registry& registry = Backends());

}  // namespace isocenter
