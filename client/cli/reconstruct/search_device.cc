#include "client/cli/reconstruct/search_device.h"

#include <cstdio>
#include <string>

#include "kernels/backends.h"
#include "kernels/base/host_memory.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {

absl::StatusOr<SearchDevice> SearchDevice::Choose(ops::Device& device,
                                                  const ReconstructOptions& options) {
  if (Backends().matrix_gradient.Find(device.backend()).ok()) return SearchDevice(nullptr, &device);
  ISO_ASSIGN_OR_RETURN(std::unique_ptr<ops::Device> host,
                       Backends().OpenDevice("cpu", {.threads = options.threads}));
  ops::Device* const searches = host.get();
  return SearchDevice(std::move(host), searches);
}

absl::Status SearchDevice::Begin(absl::string_view what, absl::string_view told, int64_t host_bytes,
                                 int64_t device_bytes, const ReconstructOptions& options) const {
  ISO_RETURN_IF_ERROR(
      CheckAvailableMemory(what, host_bytes + (device_->traits().own_memory ? 0 : device_bytes)));
  std::fprintf(options.json.progress(), "%s searched for on %s\n", std::string(told).c_str(),
               device_->description().c_str());
  std::fflush(options.json.progress());
  return absl::OkStatus();
}

}  // namespace isocenter::cli
