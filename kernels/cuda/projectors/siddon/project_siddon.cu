// Siddon's forward projection. Views whose detector columns share their crossings go to
// siddon_columns.cu; of others, as of a measured arm, a thread follows one ray through a copy of
// the volume with z fastest. A warp takes 32 pixels of the detector's axis that is closest to z, so
// that its lanes read neighbours.
#include <algorithm>
#include <vector>

#include "kernels/cuda/device/view_batches.h"
#include "kernels/cuda/fdk/backproject_common.cuh"
#include "kernels/cuda/projectors/column_volume.h"
#include "kernels/cuda/projectors/methods.h"
#include "kernels/cuda/projectors/rows_of_boxes.h"
#include "kernels/cuda/projectors/siddon/siddon_columns.h"
#include "kernels/cuda/projectors/siddon/siddon_trace.cuh"
#include "kernels/cuda/projectors/siddon/traced_views.h"

namespace isocenter::cuda {
namespace {

constexpr int kAlong = 32, kAcross = 8;  // pixels of a thread block
// Of a multiprocessor: in float32 registers of the way in are spilled, none of the way through.
template <class Real>
constexpr int kBlocks = sizeof(Real) == sizeof(float) ? 6 : 1;

template <class Real, class Index>
__global__ __launch_bounds__(kAlong* kAcross, kBlocks<Real>) void SiddonKernel(
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
  double p[3];
  Real d[3];
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    p[i] = fma(static_cast<double>(from_middle_u), view.p_column[i],
               fma(static_cast<double>(from_middle_v), view.p_row[i], view.p[i]));
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
    const Index stride[] = {static_cast<Index>(grid.nz), static_cast<Index>(grid.nz) * grid.nx, 1};
    const auto traced = TracedGridOf(grid.nx, grid.ny, grid.nz, stride);
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
  explicit ProjectSiddon(CudaSession& session) : session_(session) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices, const ops::VolumeBuffer& volume,
                     ops::ProjectionStack& projections) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(projections));
    ISO_ASSIGN_OR_RETURN(const Volume* source, AsVolume(volume));
    const Shape3& shape = stack->shape();
    if (matrices.empty()) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const VolumeGrid& grid = source->grid();
    ISO_RETURN_IF_ERROR(columns_.Fill(source->data(), grid, session_));
    const std::vector<ProjectionMatrix> indexed = IndexedMatrices(matrices, grid);
    for (const ViewBatch& batch : BoxBatchesOf(indexed, grid, kMostTracedViews, kLeastDepth)) {
      float* const to = stack->data() + batch.first * shape.middle * shape.fast;
      const RowRange seen = RowsOfBoxes(std::span(indexed).subspan(batch.first, batch.views), grid,
                                        static_cast<int>(shape.middle));
      std::vector<ProjectionMatrix> views;
      for (int i = 0; i < batch.views; ++i) {
        views.push_back(Centered(indexed[batch.first + i], grid, shape));
      }
      ISO_RETURN_IF_ERROR(batch.near ? Launch<double>(views, grid, shape, to)
                                     : LaunchFar(views, grid, shape, seen, to));
    }
    return absl::OkStatus();
  }

 private:
  // Runs of views of one kind: with shared crossings or without.
  absl::Status LaunchFar(std::span<const ProjectionMatrix> views, const VolumeGrid& grid,
                         const Shape3& stack, RowRange seen, float* projections) {
    std::vector<bool> shared;
    for (const ProjectionMatrix& view : views) {
      shared.push_back(ColumnsShareCrossings(view, grid, stack));
    }
    for (size_t first = 0, end = 0; first < views.size(); first = end) {
      while (end < views.size() && shared[end] == shared[first]) ++end;
      const auto run = views.subspan(first, end - first);
      float* const to = projections + first * stack.middle * stack.fast;
      if (shared[first]) {
        ISO_RETURN_IF_ERROR(LaunchSiddonColumns(Traced<float>(run), static_cast<int>(run.size()),
                                                columns_.data(), grid, stack, seen, to,
                                                session_.stream()));
      } else {
        ISO_RETURN_IF_ERROR(Launch<float>(run, grid, stack, to));
      }
    }
    return absl::OkStatus();
  }

  // Points are given where the middle of the grid is, of near views at the source.
  template <class Real>
  static TracedViews<Real> Traced(std::span<const ProjectionMatrix> centered) {
    constexpr bool kNear = sizeof(Real) == sizeof(double);
    TracedViews<Real> views;
    for (size_t i = 0; i < centered.size(); ++i) {
      views.view[i] = TracedViewOf<Real>(centered[i], kNear ? 0 : centered[i](2, 3));
    }
    return views;
  }

  template <class Real>
  absl::Status Launch(std::span<const ProjectionMatrix> centered, const VolumeGrid& grid,
                      const Shape3& stack, float* projections) {
    return LaunchKernel(Traced<Real>(centered), static_cast<int>(centered.size()), columns_.data(),
                        grid, stack, projections, session_.stream());
  }

  CudaSession& session_;
  ColumnVolume columns_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectSiddon(CudaSession& session) {
  return std::make_unique<ProjectSiddon>(session);
}

int64_t ProjectSiddonBytes(const ops::Extents& extents) {
  return ColumnVolume::Bytes(extents.grid);
}

}  // namespace isocenter::cuda
