// What was found at each height above the orbit's plane, and what is kept of it.
#include <cstdint>

#include "kernels/cuda/corrections/cone_beam_kernels.h"
#include "kernels/cuda/device/block_sum.cuh"
#include "kernels/cuda/device/status.h"

namespace isocenter::cuda {
namespace {

__device__ double HeightAt(const ops::ConeBeamHeights& heights, int x, int y, int z) {
  const double first = heights.first + heights.per_index.y * y + heights.per_index.z * z;
  return fmin(fmax(first + heights.per_index.x * x, 0.0), heights.count - 2.0);
}

// Whether a slice has voxels that are nearer to a height than a step.
__device__ bool Reaches(const ops::ConeBeamHeights& heights, int3 size, int z, int height) {
  double least = heights.count, most = 0;
  for (const int y : {0, size.y - 1}) {
    for (const int x : {0, size.x - 1}) {
      const double corner = HeightAt(heights, x, y, z);
      least = fmin(least, corner);
      most = fmax(most, corner);
    }
  }
  return most > height - 1 && least < height + 1;
}

// A block has a height.
__global__ __launch_bounds__(kSumThreads) void SumsKernel(int3 size, ops::ConeBeamHeights heights,
                                                          const float* weights, const float* found,
                                                          ops::ConeBeamSums* sums) {
  const int height = blockIdx.x, pixels = size.x * size.y;
  double weight = 0, squares = 0;
  for (int z = 0; z < size.z; ++z) {
    if (!Reaches(heights, size, z, height)) continue;
    const int64_t slice = static_cast<int64_t>(z) * pixels;
    for (int column = threadIdx.x; column < pixels; column += kSumThreads) {
      const double place = HeightAt(heights, column % size.x, column / size.x, z);
      const double closeness = 1 - fabs(place - height);
      if (closeness <= 0) continue;
      const double value = found[slice + column], own = closeness * weights[slice + column];
      weight += own;
      squares += own * value * value;
    }
  }
  const double all_weight = BlockSum(weight);
  __syncthreads();
  const double all_squares = BlockSum(squares);
  if (threadIdx.x == 0) sums[height] = {.squares = all_squares, .weight = all_weight};
}

// A block has a slice.
__global__ __launch_bounds__(kSumThreads) void KeepKernel(int3 size, ops::ConeBeamHeights heights,
                                                          KnownSlices known, const float* shares,
                                                          float* found,
                                                          ops::ConeBeamArtefact::Kept* kept) {
  __shared__ unsigned most;
  if (threadIdx.x == 0) most = 0;
  __syncthreads();
  const int z = blockIdx.x, pixels = size.x * size.y;
  float* const slice = found + static_cast<int64_t>(z) * pixels;
  double squares = 0;
  float own_most = 0;
  for (int column = threadIdx.x; column < pixels; column += kSumThreads) {
    const double place = HeightAt(heights, column % size.x, column / size.x, z);
    const int lower = static_cast<int>(place);
    const float below = shares[lower], above = shares[lower + 1];
    const float value =
        slice[column] * (below + static_cast<float>(place - lower) * (above - below));
    slice[column] = value;
    if (!known(column, z)) continue;
    squares += static_cast<double>(value) * value;
    own_most = fmaxf(own_most, fabsf(value));
  }
  // Of numbers that are not negative the largest has the largest bits.
  atomicMax(&most, __float_as_uint(own_most));
  const double all_squares = BlockSum(squares);
  if (threadIdx.x == 0) kept[z] = {.squares = all_squares, .most = __uint_as_float(most)};
}

}  // namespace

absl::Status LaunchConeBeamSums(int3 size, const ops::ConeBeamHeights& heights,
                                const float* weights, const float* found, ops::ConeBeamSums* sums,
                                cudaStream_t stream) {
  SumsKernel<<<heights.count, kSumThreads, 0, stream>>>(size, heights, weights, found, sums);
  return ToStatus(cudaGetLastError(), "SumsKernel");
}

absl::Status LaunchKeepShares(int3 size, const ops::ConeBeamHeights& heights, KnownSlices known,
                              const float* shares, float* found, ops::ConeBeamArtefact::Kept* kept,
                              cudaStream_t stream) {
  KeepKernel<<<size.z, kSumThreads, 0, stream>>>(size, heights, known, shares, found, kept);
  return ToStatus(cudaGetLastError(), "KeepKernel");
}

}  // namespace isocenter::cuda
