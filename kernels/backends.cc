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

namespace {

constexpr absl::string_view kCuda = "cuda";

absl::StatusOr<ChosenDevices> Open(absl::string_view backend, const WantedDevices& wanted,
                                   std::string reason) {
  ChosenDevices chosen{.reason = std::move(reason)};
  ops::DeviceLimits limits = backend == kCuda ? wanted.own_memory : wanted.host;
  const int count = backend == kCuda ? wanted.count : 1;
  for (limits.ordinal = 0; count == 0 || limits.ordinal < count; ++limits.ordinal) {
    auto device = Backends().OpenDevice(backend, limits);
    const bool no_more = count == 0 && limits.ordinal > 0;
    if (no_more && absl::IsUnavailable(device.status())) break;
    if (!device.ok()) return device.status();
    chosen.devices.push_back(*std::move(device));
  }
  return chosen;
}

}  // namespace

absl::StatusOr<ChosenDevices> OpenDevices(absl::string_view backend, const WantedDevices& wanted) {
  if (!backend.empty()) {
    return Open(backend, wanted, absl::StrCat("backend ", backend, " was asked for"));
  }
  std::string reason = "this build has no CUDA backend: running on the CPU";
  if (Backends().devices.contains(kCuda)) {
    auto found = Open(kCuda, wanted, "a CUDA device was found");
    // Fewer devices than were asked for is a mistake to be told of; none at all is not.
    if (found.ok() || Backends().OpenDevice(kCuda, {}).ok()) return found;
    reason = absl::StrCat(found.status().message(), ": running on the CPU");
  }
  return Open("cpu", wanted, std::move(reason));
}

}  // namespace isocenter
