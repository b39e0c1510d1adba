#include "kernels/cuda/device/illegal_write.h"
#include "kernels/cuda/device/status.h"

namespace isocenter::cuda {
namespace {

__global__ void IllegalWriteKernel(volatile int* address) { *address = 1; }

}  // namespace

absl::Status LaunchIllegalWrite(cudaStream_t stream) {
  IllegalWriteKernel<<<1, 1, 0, stream>>>(nullptr);
  return ToStatus(cudaGetLastError(), "IllegalWriteKernel");
}

}  // namespace isocenter::cuda
