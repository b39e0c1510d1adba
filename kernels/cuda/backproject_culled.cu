// Voxel-driven back-projection through the texture unit: kernel B of Zinsser & Keck (2013) with up
// to 32 views per launch from a layered texture, kDepth voxels along z per thread. The perspective
// division is done at both ends of a thread's run of voxels and interpolated between, where that is
// exact enough. A lane of each warp tests one view against the block, so that views which miss it
// cost nothing. The unit's interpolation weights have 8 bits, which bounds the accuracy, and it
// issues 4 samples per clock and multiprocessor, which bounds the speed.
#include <algorithm>

#include "kernels/cuda/backproject_common.cuh"
#include "kernels/cuda/layered_texture.h"
#include "kernels/cuda/methods.h"

namespace isocenter::cuda {
namespace {

constexpr int kDepth = 16;

__global__ __launch_bounds__(kThreads) void CulledKernel(const __grid_constant__ Matrices matrices,
                                                         int views, cudaTextureObject_t texture,
                                                         const float* projections, Extent e,
                                                         float* volume) {
  const int x0 = blockIdx.x * kBlockX, y0 = blockIdx.y * kBlockY, z0 = blockIdx.z * kDepth;
  const int2 column = ColumnOfThread();
  const int x = x0 + column.x, y = y0 + column.y;
  const int lane = threadIdx.x % 32;
  Footprint own{};
  if (lane < views) own = FootprintOf<kDepth>(matrices.m[lane], x0, y0, z0, e);
  const unsigned touching = __ballot_sync(0xffffffffu, own.touches);
  if (touching == 0) return;
  const unsigned in_front = __ballot_sync(0xffffffffu, own.in_front);
  const unsigned straight = __ballot_sync(0xffffffffu, own.straight);

  // The sum goes on from the volume's value, so that it does not depend on how views are divided
  // between calls.
  const bool stored = x < e.nx && y < e.ny;
  float* const target = volume + (static_cast<int64_t>(z0) * e.ny + y) * e.nx + x;
  const int64_t slice = static_cast<int64_t>(e.ny) * e.nx;
  float sum[kDepth] = {};
#pragma unroll
  for (int k = 0; k < kDepth; ++k) {
    if (stored && z0 + k < e.nz) sum[k] = target[k * slice];
  }
  for (unsigned rest = touching; rest != 0; rest &= rest - 1) {
    const int view = __ffs(rest) - 1;
    const float* m = matrices.m[view];
    float uw = m[0] * x + m[1] * y + m[2] * z0 + m[3];
    float vw = m[4] * x + m[5] * y + m[6] * z0 + m[7];
    float w = m[8] * x + m[9] * y + m[10] * z0 + m[11];
    if ((straight >> view) & 1) {
      constexpr float kSteps = kDepth - 1;
      const float first = Reciprocal(w), last = Reciprocal(fmaf(kSteps, m[10], w));
      const float u = fmaf(uw, first, 0.5f), v = fmaf(vw, first, 0.5f);
      const float du = (fmaf(fmaf(kSteps, m[2], uw), last, 0.5f) - u) * (1 / kSteps);
      const float dv = (fmaf(fmaf(kSteps, m[6], vw), last, 0.5f) - v) * (1 / kSteps);
      const float weight = first * first;
      const float dweight = (last * last - weight) * (1 / kSteps);
#pragma unroll
      for (int k = 0; k < kDepth; ++k) {
        sum[k] = fmaf(fmaf(k, dweight, weight),
                      tex2DLayered<float>(texture, fmaf(k, du, u), fmaf(k, dv, v), view), sum[k]);
      }
    } else if ((in_front >> view) & 1) {
#pragma unroll
      for (int k = 0; k < kDepth; ++k) {
        const float r = Reciprocal(w);
        sum[k] =
            fmaf(r * r, tex2DLayered<float>(texture, fmaf(uw, r, 0.5f), fmaf(vw, r, 0.5f), view),
                 sum[k]);
        uw += m[2];
        vw += m[6];
        w += m[10];
      }
    } else {
      AddExactly<kDepth>(matrices.exact[view],
                         projections + static_cast<int64_t>(view) * e.rows * e.columns, e, x, y, z0,
                         sum);
    }
  }
#pragma unroll
  for (int k = 0; k < kDepth; ++k) {
    if (stored && z0 + k < e.nz) target[k * slice] = sum[k];
  }
}

class BackprojectCulled final : public ops::Backproject {
 public:
  explicit BackprojectCulled(CudaDevice& device) : device_(device) {}

  absl::Status Run(std::span<const ProjectionMatrix> matrices, const ops::ProjectionStack& filtered,
                   ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(filtered, ops::StackUse::kFiltered));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const Shape3& shape = stack->shape();
    ISO_RETURN_IF_ERROR(CheckMatrices(matrices.size(), shape));
    ISO_RETURN_IF_ERROR(device_.MakeCurrent());
    const VolumeGrid& grid = target->grid();
    const cudaStream_t stream = device_.stream();
    for (size_t first = 0; first < matrices.size(); first += kMaxViews) {
      const int views = static_cast<int>(std::min<size_t>(kMaxViews, matrices.size() - first));
      const float* const projections = stack->data() + first * shape.middle * shape.fast;
      ISO_RETURN_IF_ERROR(texture_.Fill(projections, views, shape.middle, shape.fast, stream));
      CulledKernel<<<BlocksOf<kDepth>(grid), kThreads, 0, stream>>>(
          MakeMatrices(matrices.subspan(first, views), grid), views, texture_.texture(),
          projections, ExtentOf(grid, shape), target->data());
      ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    }
    return absl::OkStatus();
  }

 private:
  CudaDevice& device_;
  LayeredTexture texture_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectCulled(CudaDevice& device) {
  return std::make_unique<BackprojectCulled>(device);
}

}  // namespace isocenter::cuda
