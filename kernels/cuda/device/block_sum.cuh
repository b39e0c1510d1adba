// The sum over the threads of a block, in a fixed order.
#pragma once

namespace isocenter::cuda {

/// Threads of the kernels that sum.
inline constexpr int kSumThreads = 256;

/// By all kSumThreads threads of a block, which have synchronized since they last did; thread 0
/// gets the sum.
__device__ inline double BlockSum(double value) {
  __shared__ double warps[kSumThreads / 32];
  const auto sum_lanes = [&] {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      value += __shfl_down_sync(0xffffffffu, value, offset);
    }
  };
  sum_lanes();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane == 0) warps[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < kSumThreads / 32 ? warps[lane] : 0;
    sum_lanes();
  }
  return value;
}

}  // namespace isocenter::cuda
