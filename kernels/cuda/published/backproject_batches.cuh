// What the published back-projections share (naive, texture, rapid, kernel_a, kernel_b): batches of
// views, and the arithmetic of one sample. It is written in fused operations, so that the compiler
// has nothing left to contract and a view gives the same bits in every place of a batch.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/device/view_batches.h"
#include "kernels/cuda/fdk/backproject_common.cuh"
#include "kernels/cuda/published/methods.h"

namespace isocenter::cuda {

/// A voxel's detector position (u·w, v·w, w).
struct Homogeneous {
  float uw, vw, w;
};

__device__ inline Homogeneous PositionOf(const float* m, int x, int y, int z) {
  const auto row = [&](int first) {
    return fmaf(m[first + 2], z, fmaf(m[first + 1], y, fmaf(m[first], x, m[first + 3])));
  };
  return {row(0), row(4), row(8)};
}

/// Moves a position on to the next voxel along z.
__device__ inline void StepAlongZ(const float* m, Homogeneous& q) {
  q.uw += m[2];
  q.vw += m[6];
  q.w += m[10];
}

/// Where voxel (x, y, z) lies in a volume, from its first.
__device__ inline int64_t OffsetOf(const Extent& e, int x, int y, int z) {
  return (static_cast<int64_t>(z) * e.ny + y) * e.nx + x;
}

/// Thread blocks that cover a volume, each `voxels` large.
inline dim3 BlocksCovering(const Extent& e, dim3 voxels) {
  const auto count = [](int n, unsigned size) { return (n + size - 1) / size; };
  return dim3(count(e.nx, voxels.x), count(e.ny, voxels.y), count(e.nz, voxels.z));
}

/// Adds one view in float64, voxel by voxel: for views whose source lies in or near the volume,
/// where the sums cancel too much for float32. `indexed` maps voxel indices to pixels; `view`
/// [v][u] and `volume` [z][y][x] on the device. Asynchronous on `stream`.
absl::Status AddNearView(const ProjectionMatrix& indexed, const float* view, const Extent& e,
                         float* volume, cudaStream_t stream);

/// What one launch adds: all that it reads and writes is on the device.
template <int kViews>
struct Batch {
  ViewMatrices<kViews> matrices;
  int views;
  const float* projections;  // of the batch's first view, [view][v][u]
  Extent extent;
  float* volume;  // [z][y][x]
  cudaStream_t stream;
};

/// ops::Backproject::Run: checks the arguments and calls `launch` with a Batch<kViews> for each
/// batch of views that float32 serves; the others go to AddNearView. `launch` returns a Status;
/// errors of the launch itself are looked for here.
template <int kViews, class Launch>
absl::Status RunInBatches(CudaSession& session, std::span<const ProjectionMatrix> world,
                          const ops::ProjectionStack& filtered, ops::VolumeBuffer& volume,
                          Launch launch) {
  ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(filtered));
  ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
  const Shape3& shape = stack->shape();
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  const VolumeGrid& grid = target->grid();
  const Extent extent = ExtentOf(grid, shape);
  const std::vector<ProjectionMatrix> indexed = IndexedMatrices(world, grid);
  for (const ViewBatch& batch : BatchesOf(indexed, grid, kViews, kLeastDepth)) {
    const float* const projections = stack->data() + batch.first * shape.middle * shape.fast;
    const auto matrices = std::span(indexed).subspan(batch.first, batch.views);
    ISO_RETURN_IF_ERROR(
        batch.near
            ? AddNearView(matrices.front(), projections, extent, target->data(), session.stream())
            : launch(Batch<kViews>{PaddedMatrices<kViews>(matrices), batch.views, projections,
                                   extent, target->data(), session.stream()}));
    ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  }
  return absl::OkStatus();
}

}  // namespace isocenter::cuda
