#include "kernels/cuda/device/status.h"

#include "absl/strings/str_cat.h"
#include "kernels/ops/device_lost.h"

namespace isocenter::cuda {
namespace {

// Errors that come back from every later call. For most of them driver_types.h says that the
// process must be terminated and relaunched.
bool EndsTheContext(cudaError_t error) {
  switch (error) {
    case cudaErrorDevicesUnavailable:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::Status ToStatus(cudaError_t error, absl::string_view action) {
  if (error == cudaSuccess) return absl::OkStatus();
  cudaGetLastError();  // the library keeps the error until it is read
  const std::string message = absl::StrCat("CUDA: ", cudaGetErrorName(error), " (",
                                           cudaGetErrorString(error), ") in ", action);
  if (error == cudaErrorMemoryAllocation) return absl::ResourceExhaustedError(message);
  if (EndsTheContext(error)) return ops::DeviceLostError(message);
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
