// Follows the photons of simulated scatter on a GPU.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/device.h"
#include "kernels/physics/scatter/photon_engine.h"

namespace isocenter::cuda {

/// On device limits.ordinal. The tables of `simulation` are copied; limits.memory_bytes: as
/// CudaDevice. Errors: UNAVAILABLE (no such device), RESOURCE_EXHAUSTED (device memory: needed and
/// free), INTERNAL.
absl::StatusOr<std::unique_ptr<physics::PhotonEngine>> NewPhotonEngine(
    const ops::DeviceLimits& limits, const physics::ScatterSimulation& simulation);

}  // namespace isocenter::cuda
