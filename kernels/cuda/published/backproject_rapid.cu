// RapidRabbit, fully optimised: Papenhausen, Zheng & Mueller, "GPU-Accelerated Back-Projection
// Revisited: Squeezing Performance by Careful Tuning" (HPIR 2011); Papenhausen & Mueller, SPIE
// Medical Imaging (2012). Blocks of 16 x 16 x 4 threads, each thread walking through a quarter of
// the slices; four views per launch, sampled by the texture unit; matrices in constant memory, here
// by kernel parameter; data fetched ahead into shared memory while the current ones are computed,
// here the voxel of the next slice by an asynchronous copy. Their page-locked result is a matter of
// the transfer.
#include <cuda_pipeline_primitives.h>

#include "kernels/cuda/published/backproject_from_texture.cuh"

namespace isocenter::cuda {
namespace {

constexpr int kViews = 4;
constexpr int kQuarters = 4;
constexpr int kTileX = 16, kTileY = 16, kTile = kTileX * kTileY;

__global__ __launch_bounds__(kTile* kQuarters) void RapidKernel(
    const __grid_constant__ ViewMatrices<kViews> matrices, cudaTextureObject_t texture, Extent e,
    float* volume) {
  // Of every thread: the voxel that it works on and the one that is on its way. No thread reads
  // another's, so nothing has to be synchronised.
  __shared__ float ahead[2][kTile * kQuarters];
  const int own = (threadIdx.z * kTileY + threadIdx.y) * kTileX + threadIdx.x;
  const int x = blockIdx.x * kTileX + threadIdx.x, y = blockIdx.y * kTileY + threadIdx.y;
  const int quarter = (e.nz + kQuarters - 1) / kQuarters;
  const int begin = threadIdx.z * quarter, end = min(begin + quarter, e.nz);
  if (x >= e.nx || y >= e.ny || begin >= end) return;
  const int64_t slice = OffsetOf(e, 0, 0, 1);
  float* target = volume + OffsetOf(e, x, y, begin);
  __pipeline_memcpy_async(&ahead[0][own], target, sizeof(float));
  __pipeline_commit();
  for (int z = begin; z < end; ++z) {
    const int now = (z - begin) & 1;
    if (z + 1 < end) __pipeline_memcpy_async(&ahead[now ^ 1][own], target + slice, sizeof(float));
    __pipeline_commit();  // an empty one at the end, so that there is always one to leave open
    float weight[kViews], sample[kViews];
#pragma unroll
    for (int i = 0; i < kViews; ++i) {
      const Homogeneous q = PositionOf(matrices.m[i], x, y, z);
      const float r = __frcp_rn(q.w);
      weight[i] = r * r;
      sample[i] = tex2DLayered<float>(texture, fmaf(q.uw, r, 0.5f), fmaf(q.vw, r, 0.5f), i);
    }
    __pipeline_wait_prior(1);
    float sum = ahead[now][own];
#pragma unroll
    for (int i = 0; i < kViews; ++i) sum = fmaf(weight[i], sample[i], sum);
    *target = sum;
    target += slice;
  }
}

void LaunchRapid(const Batch<kViews>& batch, cudaTextureObject_t texture) {
  const Extent& e = batch.extent;
  const dim3 tiles = BlocksCovering(e, dim3(kTileX, kTileY, e.nz));
  RapidKernel<<<tiles, dim3(kTileX, kTileY, kQuarters), 0, batch.stream>>>(batch.matrices, texture,
                                                                           e, batch.volume);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectRapid(CudaSession& session) {
  return std::make_unique<BackprojectFromTexture<kViews, LaunchRapid>>(session);
}

}  // namespace isocenter::cuda
