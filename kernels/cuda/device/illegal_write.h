// A kernel that breaks its context, for CudaDevice::Break.
#pragma once

#include <cuda_runtime.h>

#include "absl/status/status.h"

namespace isocenter::cuda {

/// Starts a kernel that writes where there is no memory.
absl::Status LaunchIllegalWrite(cudaStream_t stream);

}  // namespace isocenter::cuda
