// All backends that this build has.
#pragma once

#include <memory>
#include <string>

#include "kernels/ops/registry.h"

namespace isocenter {

/// The registry with every backend of this build: "reference", "cpu", and "cuda" where nvcc built
/// it.
const ops::Registry& Backends();

/// A device and, for the operator, one sentence on why it was chosen.
struct ChosenDevice {
  std::unique_ptr<ops::Device> device;
  std::string reason;
};

/// Opens `backend`, or, when it is empty, the fastest that this machine has: CUDA, else the CPU.
/// Errors: NOT_FOUND (no such backend in this build; all are listed), UNAVAILABLE (no such device).
absl::StatusOr<ChosenDevice> OpenDevice(absl::string_view backend, const ops::DeviceLimits& limits);

}  // namespace isocenter
