#include "kernels/backends.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/cpu/register.h"
#include "kernels/reference/register.h"

#ifdef ISOCENTER_HAS_CUDA
#include "kernels/cuda/register.h"
#endif
#ifdef ISOCENTER_HAS_GLES
#include "kernels/gles/register.h"
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
#ifdef ISOCENTER_HAS_GLES
    gles::Register(*all);
#endif
    return all;
  }();
  return *registry;
}

namespace {

constexpr absl::string_view kCuda = "cuda";

absl::StatusOr<ChosenDevices> Open(const ops::Registry& registry, absl::string_view backend,
                                   const WantedDevices& wanted, std::string reason) {
  ChosenDevices chosen{.reason = std::move(reason)};
  ops::DeviceLimits limits = backend == kCuda ? wanted.own_memory : wanted.host;
  const int count = backend == kCuda ? wanted.count : 1;
  for (limits.ordinal = 0; count == 0 || limits.ordinal < count; ++limits.ordinal) {
    auto device = registry.OpenDevice(backend, limits);
    if (device.ok()) {
      chosen.devices.push_back(*std::move(device));
      continue;
    }
    chosen.failures.push_back(device.status());
    // No more are listed. With other errors there may be.
    if (absl::IsUnavailable(device.status()) || absl::IsNotFound(device.status())) break;
  }
  if (chosen.devices.empty()) return chosen.failures.front();
  std::erase_if(chosen.failures, absl::IsUnavailable);
  return chosen;
}

}  // namespace

absl::StatusOr<ChosenDevices> OpenDevices(absl::string_view backend, const WantedDevices& wanted,
                                          const ops::Registry& registry) {
  if (!backend.empty()) {
    return Open(registry, backend, wanted, absl::StrCat("backend ", backend, " was asked for"));
  }
  std::string reason = "this build has no CUDA backend: running on the CPU";
  if (registry.devices.contains(kCuda)) {
    auto found = Open(registry, kCuda, wanted, "a CUDA device was found");
    if (found.ok()) return found;
    reason = absl::StrCat(found.status().message(), ": running on the CPU");
  }
  return Open(registry, "cpu", wanted, std::move(reason));
}

}  // namespace isocenter
