#include "kernels/cuda/device/block_sum.cuh"
#include "kernels/cuda/iterative/sums.h"

namespace isocenter::cuda {
namespace {

__global__ __launch_bounds__(kSumThreads) void TotalKernel(const double* partial, int count,
                                                           double* total) {
  double sum = 0;
  for (int i = threadIdx.x; i < count; i += kSumThreads) sum += partial[i];
  sum = BlockSum(sum);
  if (threadIdx.x == 0) *total = sum;
}

}  // namespace

absl::StatusOr<Sums> Sums::Create(const Memory& memory) {
  ISO_ASSIGN_OR_RETURN(DeviceBuffer<double> partial,
                       DeviceBuffer<double>::Create(memory, kMostPartialSums));
  ISO_ASSIGN_OR_RETURN(PinnedBuffer total, PinnedBuffer::Create(sizeof(double)));
  return Sums(std::move(partial), std::move(total));
}

absl::StatusOr<double> Sums::Total(int count, cudaStream_t stream) {
  // Page-locked memory is the device's, too.
  auto* const total = reinterpret_cast<double*>(total_.data());
  TotalKernel<<<1, kSumThreads, 0, stream>>>(partial(), count, total);
  ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  ISO_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream));
  return *total;
}

}  // namespace isocenter::cuda
