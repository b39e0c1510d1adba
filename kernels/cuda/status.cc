#include "kernels/cuda/status.h"

#include "absl/strings/str_cat.h"

namespace isocenter::cuda {

absl::Status ToStatus(cudaError_t error, absl::string_view action) {
  if (error == cudaSuccess) return absl::OkStatus();
  cudaGetLastError();  // the library keeps the error until it is read
  const std::string message = absl::StrCat("CUDA: ", cudaGetErrorName(error), " (",
                                           cudaGetErrorString(error), ") in ", action);
  if (error == cudaErrorMemoryAllocation) return absl::ResourceExhaustedError(message);
  return absl::InternalError(message);
}

absl::Status ToStatus(cufftResult result, absl::string_view action) {
  if (result == CUFFT_SUCCESS) return absl::OkStatus();
  const std::string message =
      absl::StrCat("cuFFT: error ", static_cast<int>(result), " in ", action);
  if (result == CUFFT_ALLOC_FAILED) return absl::ResourceExhaustedError(message);
  return absl::InternalError(message);
}

}  // namespace isocenter::cuda
