#include "kernels/ops/device.h"

#include "absl/strings/str_cat.h"
#include "kernels/ops/device_lost.h"
#include "kernels/ops/plain_host_memory.h"
#include "kernels/ops/session.h"

namespace isocenter::ops {
absl::StatusOr<std::unique_ptr<Session>> Device::NewSession() {
  return NewSession(SessionOptions{});
}

absl::StatusOr<std::unique_ptr<HostMemory>> Device::NewHostMemory(int64_t bytes) {
  return NewPlainHostMemory(bytes);
}

absl::Status Device::Break() {
  return DeviceLostError(absl::StrCat("the ", backend(), " device was broken on request"));
}

}  // namespace isocenter::ops
