// Errors of the CUDA run-time library and of cuFFT as absl::Status; they never travel further.
#pragma once

#include <cuda_runtime_api.h>
#include <cufft.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cuda {

/// OK, RESOURCE_EXHAUSTED (device memory), or INTERNAL with CUDA's words and `action`, what was
/// tried; ops::DeviceLostError for errors after which the process cannot use the device any more.
absl::Status ToStatus(cudaError_t error, absl::string_view action);
absl::Status ToStatus(cufftResult result, absl::string_view action);

}  // namespace isocenter::cuda

#define ISO_RETURN_IF_CUDA_ERROR(expression) \
  ISO_RETURN_IF_ERROR(::isocenter::cuda::ToStatus((expression), #expression))
