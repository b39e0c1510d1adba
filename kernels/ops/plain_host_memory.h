// Host memory that no device has to do with.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/device.h"

namespace isocenter::ops {

/// For what is never copied to a device, or seldom: locking pages, as Device::NewHostMemory does,
/// takes longer than such copies. Not initialised. Errors: RESOURCE_EXHAUSTED.
absl::StatusOr<std::unique_ptr<HostMemory>> NewPlainHostMemory(int64_t bytes);

}  // namespace isocenter::ops
