// Voxel-driven back-projection from linear memory with float32 interpolation: exact, for devices of
// every kind. A thread updates kDepth voxels along z from up to 32 views (kernel B of Zinsser &
// Keck 2013); a lane of each warp tests one view against the block of voxels, so that views that
// miss the block cost nothing and blocks that lie inside the detector need no tests per sample.
#include <algorithm>

#include "kernels/cuda/fdk/backproject_common.cuh"
#include "kernels/cuda/fdk/backproject_weights.cuh"
#include "kernels/cuda/fdk/methods.h"

namespace isocenter::cuda {
namespace {

constexpr int kDepth = 8;

__device__ float SampleInside(const float* view, int columns, float u, float v) {
  const float fu = floorf(u), fv = floorf(v);
  const float* p = view + static_cast<int>(fv) * columns + static_cast<int>(fu);
  const float top = fmaf(u - fu, __ldg(p + 1) - __ldg(p), __ldg(p));
  const float bottom =
      fmaf(u - fu, __ldg(p + columns + 1) - __ldg(p + columns), __ldg(p + columns));
  return fmaf(v - fv, bottom - top, top);
}

template <class Weights>
__global__ __launch_bounds__(kThreads) void VoxelKernel(const __grid_constant__ Matrices matrices,
                                                        const __grid_constant__ Weights weights,
                                                        int views, const float* projections,
                                                        Extent e, float* volume) {
  __shared__ SharedMatrices shared;
  const int x0 = blockIdx.x * kBlockX, y0 = blockIdx.y * kBlockY, z0 = blockIdx.z * kDepth;
  const int2 column = ColumnOfThread();
  const int x = x0 + column.x, y = y0 + column.y;
  const int lane = threadIdx.x % 32;
  Load(matrices, views, shared);
  __syncthreads();
  Footprint own{};
  if (lane < views)
    own = FootprintOf<kBlockX, kBlockY, kDepth>(shared.m[lane], x0, y0, z0, e, kExactBend);
  const unsigned touching = __ballot_sync(0xffffffffu, own.touches);
  const unsigned inside = __ballot_sync(0xffffffffu, own.inside);
  if (touching == 0) return;

  float sum[kDepth];
  LoadRun(volume, e, x, y, z0, sum);
  const int64_t view_size = static_cast<int64_t>(e.rows) * e.columns;
  for (unsigned rest = touching; rest != 0; rest &= rest - 1) {
    const int view = __ffs(rest) - 1;
    const float* m = matrices.m[view];
    const float* p = projections + weights.ViewOf(view) * view_size;
    if ((inside >> view) & 1) {
      float uw = m[0] * x + m[1] * y + m[2] * z0 + m[3];
      float vw = m[4] * x + m[5] * y + m[6] * z0 + m[7];
      float w = m[8] * x + m[9] * y + m[10] * z0 + m[11];
#pragma unroll
      for (int k = 0; k < kDepth; ++k) {
        const float r = __frcp_rn(w), u = uw * r, v = vw * r;
        sum[k] =
            fmaf(weights.Factor(view, u, v) * (r * r), SampleInside(p, e.columns, u, v), sum[k]);
        uw += m[2];
        vw += m[6];
        w += m[10];
      }
    } else {
      // Blocks at the detector's border or around the source: few.
      AddAnywhere(matrices.exact[view], p, e, x, y, z0, sum,
                  [&](float u, float v) { return weights.Factor(view, u, v); });
    }
  }
  StoreRun(sum, e, x, y, z0, volume);
}

class BackprojectVoxel final : public ops::Backproject {
 public:
  explicit BackprojectVoxel(CudaSession& session) : session_(session) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices,
                     const ops::ProjectionStack& filtered, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(filtered));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const Shape3& shape = stack->shape();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const VolumeGrid& grid = target->grid();
    for (size_t first = 0; first < matrices.size(); first += kMaxViews) {
      const int views = static_cast<int>(std::min<size_t>(kMaxViews, matrices.size() - first));
      ISO_RETURN_IF_ERROR(LaunchVoxel(MakeMatrices(matrices.subspan(first, views), grid), views,
                                      stack->data() + first * shape.middle * shape.fast, grid,
                                      ExtentOf(grid, shape), target->data(), session_.stream()));
    }
    return absl::OkStatus();
  }

 private:
  CudaSession& session_;
};

}  // namespace

absl::Status LaunchVoxel(const Matrices& matrices, int views, const float* projections,
                         const VolumeGrid& grid, const Extent& extent, float* volume,
                         cudaStream_t stream) {
  VoxelKernel<<<BlocksOf<kDepth>(grid), kThreads, 0, stream>>>(matrices, FeldkampWeights{}, views,
                                                               projections, extent, volume);
  return ToStatus(cudaGetLastError(), "VoxelKernel");
}

absl::Status LaunchVoxel(const Matrices& matrices, const MassWeights& weights, int views,
                         const float* projections, const VolumeGrid& grid, const Extent& extent,
                         float* volume, cudaStream_t stream) {
  VoxelKernel<<<BlocksOf<kDepth>(grid), kThreads, 0, stream>>>(matrices, weights, views,
                                                               projections, extent, volume);
  return ToStatus(cudaGetLastError(), "VoxelKernel");
}

absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectVoxel(CudaSession& session) {
  return std::make_unique<BackprojectVoxel>(session);
}

}  // namespace isocenter::cuda
