// What a reconstruction of a model has beside it, smoothed where there is no edge.
#include <cfloat>
#include <cmath>
#include <cstdint>

#include "kernels/cuda/corrections/cone_beam_kernels.h"
#include "kernels/cuda/device/status.h"
#include "kernels/ops/second_pass.h"

namespace isocenter::cuda {
namespace {

constexpr int kReach = ops::kConeBeamReach;
constexpr int kTaps = 2 * kReach + 1;

struct Taps {
  float at[kTaps];
};

Taps GaussianTaps() {
  Taps taps;
  float sum = 0;
  for (int i = -kReach; i <= kReach; ++i) {
    taps.at[i + kReach] =
        static_cast<float>(std::exp(-0.5 * i * i / (ops::kConeBeamSigma * ops::kConeBeamSigma)));
    sum += taps.at[i + kReach];
  }
  for (float& tap : taps.at) tap /= sum;
  return taps;
}

// A thread's voxel.
struct Place {
  int x, y, z;
  int64_t index;
  bool inside;
};

__device__ Place OwnPlace(int3 size) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z;
  return {x, y, z, (static_cast<int64_t>(z) * size.y + y) * size.x + x, x < size.x && y < size.y};
}

__global__ void DifferenceKernel(int3 size, KnownSlices known, float most, float to_hu,
                                 const float* model, float* reconstructed, float* weights) {
  const Place own = OwnPlace(size);
  if (!own.inside) return;
  float least = FLT_MAX, greatest = -FLT_MAX;
  for (int z = max(own.z - 1, 0); z <= min(own.z + 1, size.z - 1); ++z) {
    for (int y = max(own.y - 1, 0); y <= min(own.y + 1, size.y - 1); ++y) {
      const float* const row = model + (static_cast<int64_t>(z) * size.y + y) * size.x;
      for (int x = max(own.x - 1, 0); x <= min(own.x + 1, size.x - 1); ++x) {
        least = fminf(least, row[x]);
        greatest = fmaxf(greatest, row[x]);
      }
    }
  }
  const bool counts = known(own.y * size.x + own.x, own.z) && greatest - least <= most;
  const float weight = counts ? 1.f : 0.f;
  const float modelled = model[own.index] * to_hu - 1000.f;
  weights[own.index] = weight;
  reconstructed[own.index] = weight * (reconstructed[own.index] - modelled);
}

// The Gaussian mean along an axis, of `count` voxels that are `stride` apart; nothing beyond the
// ends.
__device__ float Smoothed(const Taps& taps, const float* in, int64_t index, int at, int count,
                          int64_t stride) {
  float sum = 0;
#pragma unroll
  for (int i = -kReach; i <= kReach; ++i) {
    if (at + i >= 0 && at + i < count) sum += taps.at[i + kReach] * in[index + i * stride];
  }
  return sum;
}

__global__ void AlongRowsKernel(int3 size, Taps taps, const float* in, float* out) {
  const Place own = OwnPlace(size);
  if (own.inside) out[own.index] = Smoothed(taps, in, own.index, own.x, size.x, 1);
}

__global__ void AlongColumnsKernel(int3 size, Taps taps, const float* in, float* out) {
  const Place own = OwnPlace(size);
  if (own.inside) out[own.index] = Smoothed(taps, in, own.index, own.y, size.y, size.x);
}

__global__ void AcrossSlicesKernel(int3 size, Taps taps, const float* weighted,
                                   const float* weights, float* found, float* smoothed_weights) {
  const Place own = OwnPlace(size);
  if (!own.inside) return;
  const int64_t slice = static_cast<int64_t>(size.x) * size.y;
  const float weight = Smoothed(taps, weights, own.index, own.z, size.z, slice);
  const float sum = Smoothed(taps, weighted, own.index, own.z, size.z, slice);
  smoothed_weights[own.index] = weight;
  found[own.index] = sum / fmaxf(weight, static_cast<float>(ops::kConeBeamLeastWeight));
}

}  // namespace

absl::Status LaunchConeBeamDifference(int3 size, KnownSlices known, double water_per_mm,
                                      const float* model, float* reconstructed, float* weights,
                                      cudaStream_t stream) {
  DifferenceKernel<<<VoxelBlocks(size), kVoxelThreads, 0, stream>>>(
      size, known, static_cast<float>(ops::kConeBeamEdgeHu / 1000 * water_per_mm),
      static_cast<float>(1000 / water_per_mm), model, reconstructed, weights);
  return ToStatus(cudaGetLastError(), "DifferenceKernel");
}

absl::Status LaunchWeightedMean(int3 size, float* weighted, float* weights, float* smoothed_weights,
                                float* found, cudaStream_t stream) {
  const Taps taps = GaussianTaps();
  const dim3 blocks = VoxelBlocks(size);
  for (float* const volume : {weighted, weights}) {
    AlongRowsKernel<<<blocks, kVoxelThreads, 0, stream>>>(size, taps, volume, smoothed_weights);
    ISO_RETURN_IF_ERROR(ToStatus(cudaGetLastError(), "AlongRowsKernel"));
    AlongColumnsKernel<<<blocks, kVoxelThreads, 0, stream>>>(size, taps, smoothed_weights, volume);
    ISO_RETURN_IF_ERROR(ToStatus(cudaGetLastError(), "AlongColumnsKernel"));
  }
  AcrossSlicesKernel<<<blocks, kVoxelThreads, 0, stream>>>(size, taps, weighted, weights, found,
                                                           smoothed_weights);
  return ToStatus(cudaGetLastError(), "AcrossSlicesKernel");
}

}  // namespace isocenter::cuda
