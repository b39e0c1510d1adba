#include "kernels/backends.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/cpu/register.h"
#include "kernels/reference/register.h"

#ifdef ISOCENTER_HAS_CUDA
#include "kernels/cuda/register.h"
#endif

namespace isocenter {

const ops::Registry& Backends() {
  static const ops::Registry* const registry = [] {
    auto* all = new ops::Registry;
    reference::Register(*all);
    cpu::Register(*all);
#ifdef ISOCENTER_HAS_CUDA
    cuda::Register(*all);
#endif
    return all;
  }();
  return *registry;
}

absl::StatusOr<ChosenDevice> OpenDevice(absl::string_view backend,
                                        const ops::DeviceLimits& limits) {
  if (!backend.empty()) {
    ISO_ASSIGN_OR_RETURN(auto device, Backends().OpenDevice(backend, limits));
    return ChosenDevice{std::move(device),
                        absl::StrCat("the configuration names backend ", backend)};
  }
  std::string reason = "this build has no CUDA backend: running on the CPU";
  if (Backends().devices.contains("cuda")) {
    auto device = Backends().OpenDevice("cuda", limits);
    if (device.ok()) return ChosenDevice{*std::move(device), "a CUDA device was found"};
    reason = absl::StrCat(device.status().message(), ": running on the CPU");
  }
  ISO_ASSIGN_OR_RETURN(auto device, Backends().OpenDevice("cpu", limits));
  return ChosenDevice{std::move(device), std::move(reason)};
}

}  // namespace isocenter
