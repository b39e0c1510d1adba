#include "kernels/backends.h"

#include "kernels/cpu/register.h"
#include "kernels/reference/register.h"

#ifdef ISOCENTER_HAS_CUDA
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/cuda/device_query.h"
#endif

namespace isocenter {

const ops::Registry& Backends() {
  static const ops::Registry* const registry = [] {
    auto* all = new ops::Registry;
    reference::Register(*all);
    cpu::Register(*all);
    return all;
  }();
  return *registry;
}

#ifdef ISOCENTER_HAS_CUDA
std::string CudaSummary() {
  const cuda::DeviceQuery query = cuda::QueryDevices();
  if (query.names.empty()) {
    return absl::StrCat("CUDA was built in, no device found (", query.reason,
                        "): running on the CPU");
  }
  return absl::StrCat("CUDA was built in, ", query.names.size(), " device(s) found (",
                      absl::StrJoin(query.names, ", "),
                      "), but this version has no CUDA backend yet: running on the CPU");
}
#else
std::string CudaSummary() { return "CUDA was not built in: running on the CPU"; }
#endif

}  // namespace isocenter
