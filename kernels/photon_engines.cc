#include "kernels/photon_engines.h"

#include "absl/strings/str_cat.h"
#ifdef ISOCENTER_HAS_CUDA
#include "kernels/cuda/physics/photon_engine.h"
#endif

namespace isocenter {

absl::StatusOr<std::unique_ptr<physics::PhotonEngine>> OpenPhotonEngine(
    absl::string_view backend, [[maybe_unused]] const ops::DeviceLimits& limits,
    [[maybe_unused]] const physics::ScatterSimulation& simulation) {
#ifdef ISOCENTER_HAS_CUDA
  if (backend == "cuda") return cuda::NewPhotonEngine(limits, simulation);
  constexpr absl::string_view kThere = "cuda";
#else
  constexpr absl::string_view kThere = "none";
#endif
  return absl::NotFoundError(absl::StrCat("no backend '", backend,
                                          "' follows photons in this build; there are: ", kThere,
                                          ", and the threads of the CPU"));
}

}  // namespace isocenter
