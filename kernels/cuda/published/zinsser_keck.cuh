// Kernels A and B of Zinsser & Keck, "Systematic Performance Optimization of Cone-Beam
// Back-Projection on the Kepler Architecture" (Fully3D 2013), figures 1 and 2. A thread adds kViews
// views to kDepth consecutive voxels along z. Kernel A takes the voxels one after the other, with
// all views for each; kernel B the views one after the other, with all voxels for each, so that
// neighbouring samples come from one texture and only the sums stay in registers.
//
// The paper sets the sums to zero and adds them to the volume at the end. Here they go on from the
// volume's value, so that the result does not depend on how views are divided between launches; the
// memory traffic is the same.
#pragma once

#include "kernels/cuda/published/backproject_batches.cuh"

namespace isocenter::cuda {

/// What a kernel does of its work. All but kAll are the paper's modified kernels, which show what
/// bounds it; they give no result.
enum class Work {
  kInstructions,           // I|-|-: neither samples nor volume
  kInstructionsAndMemory,  // I|M|-: no samples
  kAll,
};

/// Adds one view's sample at q to a sum.
template <Work kWork>
__device__ inline float AddedSample(cudaTextureObject_t texture, int layer, const Homogeneous& q,
                                    float sum) {
  const float r = Reciprocal(q.w);
  const float u = fmaf(q.uw, r, 0.5f), v = fmaf(q.vw, r, 0.5f);
  // The modified kernels need both coordinates still, or the compiler would drop their computation.
  const float sample = kWork == Work::kAll ? tex2DLayered<float>(texture, u, v, layer) : u + v;
  return fmaf(r * r, sample, sum);
}

template <Work kWork>
__device__ inline float LoadedVoxel(const float* voxel) {
  return kWork == Work::kInstructions ? 0 : *voxel;
}

template <Work kWork>
__device__ inline void StoreVoxel(float* voxel, float sum) {
  // Sums are finite and nothing is stored, but the compiler does not know: it keeps the sums.
  if (kWork != Work::kInstructions || isnan(sum)) *voxel = sum;
}

/// `layer` is the texture's layer of the first view. With kSynchronized the threads of a block walk
/// along z together. Blocks of kBlockX x kBlockY threads; the grid covers the volume in blocks of
/// kBlockX x kBlockY x kDepth voxels.
template <int kViews, int kDepth, int kBlockX, int kBlockY, bool kSynchronized, Work kWork>
__global__ __launch_bounds__(kBlockX* kBlockY) void KernelA(
    const __grid_constant__ ViewMatrices<kViews> matrices, int layer, cudaTextureObject_t texture,
    Extent e, float* volume) {
  const int x = blockIdx.x * kBlockX + threadIdx.x, y = blockIdx.y * kBlockY + threadIdx.y;
  const int z0 = blockIdx.z * kDepth;
  // Threads outside of the volume must still come to the barrier.
  const bool stored = x < e.nx && y < e.ny;
  if (!kSynchronized && !stored) return;
  Homogeneous q[kViews];
#pragma unroll
  for (int i = 0; i < kViews; ++i) q[i] = PositionOf(matrices.m[i], x, y, z0);
  float* target = volume + OffsetOf(e, x, y, z0);
  const int64_t slice = OffsetOf(e, 0, 0, 1);
  const int depth = min(kDepth, e.nz - z0);
#pragma unroll 1
  for (int k = 0; k < depth; ++k) {
    float sum = stored ? LoadedVoxel<kWork>(target) : 0.f;
#pragma unroll
    for (int i = 0; i < kViews; ++i) {
      sum = AddedSample<kWork>(texture, layer + i, q[i], sum);
      StepAlongZ(matrices.m[i], q[i]);
    }
    if (stored) StoreVoxel<kWork>(target, sum);
    target += slice;
    if (kSynchronized) __syncthreads();
  }
}

/// As KernelA; `views` is the number of matrices that are set.
template <int kViews, int kDepth, int kBlockX, int kBlockY, Work kWork>
__global__ __launch_bounds__(kBlockX* kBlockY) void KernelB(
    const __grid_constant__ ViewMatrices<kViews> matrices, int views, int layer,
    cudaTextureObject_t texture, Extent e, float* volume) {
  const int x = blockIdx.x * kBlockX + threadIdx.x, y = blockIdx.y * kBlockY + threadIdx.y;
  const int z0 = blockIdx.z * kDepth;
  if (x >= e.nx || y >= e.ny) return;
  float* const target = volume + OffsetOf(e, x, y, z0);
  const int64_t slice = OffsetOf(e, 0, 0, 1);
  float sum[kDepth] = {};
#pragma unroll
  for (int k = 0; k < kDepth; ++k) {
    if (z0 + k < e.nz) sum[k] = LoadedVoxel<kWork>(target + k * slice);
  }
#pragma unroll 4
  for (int i = 0; i < views; ++i) {
    Homogeneous q = PositionOf(matrices.m[i], x, y, z0);
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      sum[k] = AddedSample<kWork>(texture, layer + i, q, sum[k]);
      StepAlongZ(matrices.m[i], q);
    }
  }
#pragma unroll
  for (int k = 0; k < kDepth; ++k) {
    if (z0 + k < e.nz) StoreVoxel<kWork>(target + k * slice, sum[k]);
  }
}

}  // namespace isocenter::cuda
