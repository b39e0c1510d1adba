// One view per launch, one voxel per thread, interpolated by the texture unit: what the unit alone
// brings over backproject_naive.cu. The second step ("ASIC") of Papenhausen, Zheng & Mueller,
// "GPU-Accelerated Back-Projection Revisited" (HPIR 2011).
#include "kernels/cuda/published/backproject_from_texture.cuh"

namespace isocenter::cuda {
namespace {

constexpr dim3 kVoxels(32, 4, 2);

__global__ __launch_bounds__(256) void TextureKernel(
    const __grid_constant__ ViewMatrices<1> matrices, cudaTextureObject_t texture, Extent e,
    float* volume) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= e.nx || y >= e.ny || z >= e.nz) return;
  const Homogeneous q = PositionOf(matrices.m[0], x, y, z);
  const float r = Reciprocal(q.w);
  float* const target = volume + OffsetOf(e, x, y, z);
  *target = fmaf(r * r, tex2DLayered<float>(texture, fmaf(q.uw, r, 0.5f), fmaf(q.vw, r, 0.5f), 0),
                 *target);
}

void LaunchTexture(const Batch<1>& batch, cudaTextureObject_t texture) {
  TextureKernel<<<BlocksCovering(batch.extent, kVoxels), kVoxels, 0, batch.stream>>>(
      batch.matrices, texture, batch.extent, batch.volume);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectTexture(CudaSession& session) {
  return std::make_unique<BackprojectFromTexture<1, LaunchTexture>>(session);
}

}  // namespace isocenter::cuda
