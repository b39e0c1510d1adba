#include "kernels/ops/registry.h"

namespace isocenter::ops {

absl::StatusOr<std::unique_ptr<Device>> Registry::OpenDevice(absl::string_view backend,
                                                             const DeviceLimits& limits) const {
  const auto found = devices.find(backend);
  if (found == devices.end()) {
    return absl::NotFoundError(absl::StrCat(
        "no backend '", backend,
        "'; there are: ", absl::StrJoin(devices, ", ", [](std::string* out, const auto& entry) {
          absl::StrAppend(out, entry.first);
        })));
  }
  return found->second(limits);
}

}  // namespace isocenter::ops
