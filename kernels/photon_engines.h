// The devices of this build that follow the photons of simulated scatter.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/ops/device.h"
#include "kernels/physics/scatter/photon_engine.h"

namespace isocenter {

/// Of `backend`, "cuda". The host's threads are no engine: ScatterSimulation has them itself.
/// Errors: NOT_FOUND (no such backend in this build), UNAVAILABLE (no such device),
/// RESOURCE_EXHAUSTED (device memory: needed and free).
absl::StatusOr<std::unique_ptr<physics::PhotonEngine>> OpenPhotonEngine(
    absl::string_view backend, const ops::DeviceLimits& limits,
    const physics::ScatterSimulation& simulation);

}  // namespace isocenter
