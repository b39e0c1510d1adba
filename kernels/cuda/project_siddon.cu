// Siddon's forward projection for general matrices: a thread follows one ray through a copy of the
// volume with z fastest. A warp takes 32 pixels of the detector's axis that is closest to z, so
// that its lanes read neighbours.
#include <algorithm>
#include <vector>

#include "kernels/cuda/backproject_common.cuh"
#include "kernels/cuda/column_volume.h"
#include "kernels/cuda/methods.h"
#include "kernels/cuda/rays.h"
#include "kernels/cuda/siddon_trace.cuh"

namespace isocenter::cuda {
namespace {

constexpr int kAlong = 32, kAcross = 8;  // pixels of a thread block

// Rays of one view: pixel (u, v) sees p + t·d, both affine in the pixel's distance from the
// detector's middle and relative to the grid's, in voxels. float32 is best where p lies within the
// grid.
template <class Real>
struct TracedView {
  Real p[3], p_column[3], p_row[3];
  Real d[3], d_column[3], d_row[3];
  Real first;       // t of the source
  bool along_rows;  // a warp's pixels differ in v
};

template <class Real>
struct TracedViews {
  static constexpr int kMost = sizeof(Real) == sizeof(float) ? kMaxViews : 1;
  TracedView<Real> view[kMost];
};

template <class Real>
void Assign(Vec3 from, Real (&to)[3]) {
  to[0] = static_cast<Real>(from.x);
  to[1] = static_cast<Real>(from.y);
  to[2] = static_cast<Real>(from.z);
}

// Points are given at depth w = `depth`.
template <class Real>
TracedView<Real> TracedViewOf(const ProjectionMatrix& indexed, double depth, const VolumeGrid& grid,
                              const Shape3& stack) {
  const Rays rays = RaysOf(indexed);
  const Vec3 middle{0.5 * (grid.nx - 1), 0.5 * (grid.ny - 1), 0.5 * (grid.nz - 1)};
  const Vec3 direction = rays.At(0.5 * static_cast<double>(stack.fast - 1),
                                 0.5 * static_cast<double>(stack.middle - 1));
  TracedView<Real> view;
  Assign(rays.source + depth * direction - middle, view.p);
  Assign(depth * rays.per_column, view.p_column);
  Assign(depth * rays.per_row, view.p_row);
  Assign(direction, view.d);
  Assign(rays.per_column, view.d_column);
  Assign(rays.per_row, view.d_row);
  view.first = static_cast<Real>(-depth);
  view.along_rows = AxisFollowsRows(indexed, grid);
  return view;
}

template <class Real, class Index>
__global__ __launch_bounds__(kAlong* kAcross) void SiddonKernel(
    const __grid_constant__ TracedViews<Real> views, TracedGrid<Index> grid, float3 spacing,
    const float* volume, int rows, int columns, float* projections) {
  const TracedView<Real>& view = views.view[blockIdx.z];
  const int along = view.along_rows ? rows : columns, across = view.along_rows ? columns : rows;
  const int tiles = (along + kAlong - 1) / kAlong;
  const int a = blockIdx.x % tiles * kAlong + threadIdx.x;
  const int b = blockIdx.x / tiles * kAcross + threadIdx.y;
  if (a >= along || b >= across) return;
  const int u = view.along_rows ? b : a, v = view.along_rows ? a : b;
  const Real from_middle_u = u - static_cast<Real>(0.5) * (columns - 1);
  const Real from_middle_v = v - static_cast<Real>(0.5) * (rows - 1);
  Real p[3], d[3];
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    p[i] = fma(from_middle_u, view.p_column[i], fma(from_middle_v, view.p_row[i], view.p[i]));
    d[i] = fma(from_middle_u, view.d_column[i], fma(from_middle_v, view.d_row[i], view.d[i]));
  }
  const Real sum = TraceRay(p, d, view.first, grid, volume);
  const Real length = norm3d(d[0] * spacing.x, d[1] * spacing.y, d[2] * spacing.z);
  projections[(static_cast<int64_t>(blockIdx.z) * rows + v) * columns + u] +=
      static_cast<float>(sum * length);
}

template <class Real>
absl::Status LaunchKernel(const TracedViews<Real>& views, int count, const float* volume,
                          const VolumeGrid& grid, const Shape3& stack, float* projections,
                          cudaStream_t stream) {
  const int rows = static_cast<int>(stack.middle), columns = static_cast<int>(stack.fast);
  const auto tiles = [](int along, int across) {
    return ((along + kAlong - 1) / kAlong) * ((across + kAcross - 1) / kAcross);
  };
  const dim3 blocks(std::max(tiles(rows, columns), tiles(columns, rows)), 1, count);
  const dim3 threads(kAlong, kAcross);
  const float3 spacing =
      make_float3(static_cast<float>(grid.spacing.x), static_cast<float>(grid.spacing.y),
                  static_cast<float>(grid.spacing.z));
  const auto launch = [&](auto index) {
    using Index = decltype(index);
    const TracedGrid<Index> traced{
        {grid.nx, grid.ny, grid.nz},
        {static_cast<Index>(grid.nz), static_cast<Index>(grid.nz) * grid.nx, 1}};
    SiddonKernel<Real, Index><<<blocks, threads, 0, stream>>>(views, traced, spacing, volume, rows,
                                                              columns, projections);
  };
  if (grid.voxels() <= INT32_MAX) {
    launch(int32_t{});
  } else {
    launch(int64_t{});
  }
  return ToStatus(cudaGetLastError(), "SiddonKernel");
}

class ProjectSiddon final : public ops::ForwardProject {
 public:
  explicit ProjectSiddon(CudaDevice& device) : device_(device) {}

  absl::Status Run(std::span<const ProjectionMatrix> matrices, const ops::VolumeBuffer& volume,
                   ops::ProjectionStack& projections) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(projections, ops::StackUse::kProjections));
    ISO_ASSIGN_OR_RETURN(const Volume* source, ops::OwnVolume<Volume>(volume, "cuda"));
    const Shape3& shape = stack->shape();
    ISO_RETURN_IF_ERROR(CheckMatrices(matrices.size(), shape));
    if (matrices.empty()) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(device_.MakeCurrent());
    const VolumeGrid& grid = source->grid();
    ISO_RETURN_IF_ERROR(columns_.Fill(source->data(), grid, device_.stream()));
    std::vector<ProjectionMatrix> indexed;
    for (const ProjectionMatrix& matrix : matrices) {
      indexed.push_back(ToVoxelIndices(matrix, grid));
    }
    for (const ViewBatch& batch : BoxBatchesOf(indexed, grid, kMaxViews, kLeastDepth)) {
      const auto views = std::span(indexed).subspan(batch.first, batch.views);
      float* const to = stack->data() + batch.first * shape.middle * shape.fast;
      ISO_RETURN_IF_ERROR(batch.near ? Launch<double>(views, grid, shape, to)
                                     : Launch<float>(views, grid, shape, to));
    }
    return absl::OkStatus();
  }

  int64_t WorkspaceBytes(const VolumeGrid& grid, Shape3) const override {
    return ColumnVolume::Bytes(grid);
  }

 private:
  template <class Real>
  absl::Status Launch(std::span<const ProjectionMatrix> indexed, const VolumeGrid& grid,
                      const Shape3& stack, float* projections) {
    TracedViews<Real> views;
    for (size_t i = 0; i < indexed.size(); ++i) {
      // Near sources are their own points: the depth of the grid's middle may be anything.
      const double depth =
          sizeof(Real) == sizeof(double)
              ? 0
              : indexed[i]
                    .Project({0.5 * (grid.nx - 1), 0.5 * (grid.ny - 1), 0.5 * (grid.nz - 1)})
                    .w;
      views.view[i] = TracedViewOf<Real>(indexed[i], depth, grid, stack);
    }
    return LaunchKernel(views, static_cast<int>(indexed.size()), columns_.data(), grid, stack,
                        projections, device_.stream());
  }

  CudaDevice& device_;
  ColumnVolume columns_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectSiddon(CudaDevice& device) {
  return std::make_unique<ProjectSiddon>(device);
}

}  // namespace isocenter::cuda
