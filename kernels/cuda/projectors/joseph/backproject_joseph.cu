// The exact adjoint of Joseph's forward projector, by gathering. For each major axis and view the
// pixels are first multiplied by the length of their rays between two planes, and set to zero where
// the axis is another one. Views whose columns of pixels run along z are added by cells
// (joseph_cells.h). In the others a voxel takes the pixels whose rays cross its plane less than one
// voxel away along both of the other axes, each times a tent along both.
#include <algorithm>
#include <optional>

#include "kernels/cuda/fdk/backproject_common.cuh"
#include "kernels/cuda/projectors/joseph/joseph_cells.h"
#include "kernels/cuda/projectors/joseph/joseph_reach.cuh"
#include "kernels/cuda/projectors/methods.h"

namespace isocenter::cuda {
namespace {

// Length of the ray times pixel, where the ray's major axis is that of `axes`; else zero.
__global__ __launch_bounds__(kThreads) void WeighKernel(
    const __grid_constant__ JosephAdjointViews views, PlaneAxes axes, JosephExtent e,
    const float* projections, float* weighed) {
  const int column = blockIdx.x * 32 + threadIdx.x % 32, row = blockIdx.y * 8 + threadIdx.x / 32;
  if (column >= e.columns || row >= e.rows) return;
  const JosephView& view = views.of[blockIdx.z].rays;
  const float u = column - 0.5f * (e.columns - 1), v = row - 0.5f * (e.rows - 1);
  const auto at = [&](int i) {
    return (static_cast<int64_t>(i) * e.rows + row) * e.columns + column;
  };
  weighed[at(blockIdx.z)] =
      IsMajor(axes, view, u, v)
          ? RayOf(view, e, u, v).length * projections[at(views.of[blockIdx.z].index)]
          : 0.f;
}

// Adds one view to one voxel (i, j, k), in float64. Slow: near a source a voxel's pixels may be the
// whole detector.
__device__ float GatherNear(const JosephAdjointView& view, const PlaneAxes& axes,
                            const JosephExtent& e, const float* pixels, const int (&voxel)[3]) {
  const double half_u = 0.5 * (e.columns - 1), half_v = 0.5 * (e.rows - 1);
  double u_low = INFINITY, u_high = -INFINITY, v_low = INFINITY, v_high = -INFINITY;
  for (int corner = 0; corner < 4; ++corner) {
    double at[3] = {1. * voxel[0], 1. * voxel[1], 1. * voxel[2]};
    at[axes.b] += (corner & 1) ? 1 : -1;
    at[axes.c] += (corner & 2) ? 1 : -1;
    const auto row = [&](int first) {
      const double* const m = view.exact_m + first;
      return m[0] * at[0] + m[1] * at[1] + m[2] * at[2] + m[3];
    };
    const double w = row(8);
    if (!(w > 1e-9)) {  // the pixels are not a bounded set
      u_low = -half_u;
      u_high = half_u;
      v_low = -half_v;
      v_high = half_v;
      break;
    }
    u_low = fmin(u_low, row(0) / w);
    u_high = fmax(u_high, row(0) / w);
    v_low = fmin(v_low, row(4) / w);
    v_high = fmax(v_high, row(4) / w);
  }
  const int first_column = static_cast<int>(ceil(fmax(u_low, -half_u) + half_u));
  const int last_column = static_cast<int>(floor(fmin(u_high, half_u) + half_u));
  const int first_row = static_cast<int>(ceil(fmax(v_low, -half_v) + half_v));
  const int last_row = static_cast<int>(floor(fmin(v_high, half_v) + half_v));
  const double* const source = view.exact_source;
  float sum = 0;
  for (int row = first_row; row <= last_row; ++row) {
    for (int column = first_column; column <= last_column; ++column) {
      const float pixel = pixels[row * e.columns + column];
      if (pixel == 0) continue;
      const double u = column - half_u, v = row - half_v;
      const auto d = [&](int axis) {
        const double* const along = view.rays.d + 3 * axis;
        return along[0] + along[1] * u + along[2] * v;
      };
      const double w = (voxel[axes.major] - source[axes.major]) / d(axes.major);
      if (!(w > 0)) continue;
      const double b = source[axes.b] + w * d(axes.b) - voxel[axes.b];
      const double c = source[axes.c] + w * d(axes.c) - voxel[axes.c];
      sum += pixel * static_cast<float>(fmax(0., 1 - fabs(b)) * fmax(0., 1 - fabs(c)));
    }
  }
  return sum;
}

// One view at one voxel, from the view itself.
__device__ float GatherFar(const Neighbourhood& n, const Reach& reach, const JosephExtent& e,
                           const float* pixels) {
  const float half_u = 0.5f * (e.columns - 1), half_v = 0.5f * (e.rows - 1);
  const float at_u = n.u + half_u, at_v = n.v + half_v;
  const int first_column = static_cast<int>(ceilf(fmaxf(at_u - reach.u, 0.f)));
  const int last_column = static_cast<int>(floorf(fminf(at_u + reach.u, 2 * half_u)));
  const int first_row = static_cast<int>(ceilf(fmaxf(at_v - reach.v, 0.f)));
  const int last_row = static_cast<int>(floorf(fminf(at_v + reach.v, 2 * half_v)));
  float sum = 0;
#pragma unroll 1
  for (int row = first_row; row <= last_row; ++row) {
    const float dv = row - half_v - n.v;
#pragma unroll 1
    for (int column = first_column; column <= last_column; ++column) {
      const float du = column - half_u - n.u;
      const float g = Reciprocal(1 + fmaf(n.bend_u, du, n.bend_v * dv));
      const float b = fmaf(n.b_u, du, n.b_v * dv) * g, c = fmaf(n.c_u, du, n.c_v * dv) * g;
      sum = fmaf(Tent(b) * Tent(c), __ldg(pixels + row * e.columns + column), sum);
    }
  }
  return sum;
}

// One view at one voxel, from the tile, whose pixels have a border of others or of zeros.
template <int kRows>
__device__ float GatherTile(const Neighbourhood& n, const Reach& reach, const JosephExtent& e,
                            const float* tile) {
  const float at_u = n.u + (0.5f * (e.columns - 1) - reach.tile_u);
  const float at_v = n.v + (0.5f * (e.rows - 1) - reach.tile_v);
  const float first_column = ceilf(at_u - reach.u), first_row = ceilf(at_v - reach.v);
  const float* pixel = tile + static_cast<int>(fmaf(first_row, kTileColumns, first_column));
  float du = first_column - at_u;
  const float dv = first_row - at_v;
  float sum = 0;
#pragma unroll 1
  for (int column = 0; column < reach.columns; ++column) {
    const float g = Reciprocal(fmaf(n.bend_u, du, 1.f));
    const float c = fmaf(n.c_u, du, n.c_v * dv) * g, c_step = n.c_v * g;
    const float b = fmaf(n.b_u, du, n.b_v * dv) * g, b_step = n.b_v * g;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const float weight = Tent(fmaf(row, b_step, b)) * Tent(fmaf(row, c_step, c));
      sum = fmaf(weight, pixel[row * kTileColumns], sum);
    }
    ++pixel;
    du += 1;
  }
  return sum;
}

// Copies the tile of a block into shared memory, by all its threads; zeros beyond the view.
__device__ void FillTile(const Reach& reach, const JosephExtent& e, const float* pixels,
                         float* tile) {
  const int lane = threadIdx.x % 32;
  for (int row = threadIdx.x / 32; row < reach.tile_rows; row += kThreads / 32) {
    const int from = reach.tile_v + row;
    const bool exists = from >= 0 && from < e.rows;
    const float* const pixels_of_row = pixels + static_cast<int64_t>(from) * e.columns;
    for (int i = lane; i < kTileColumns; i += 32) {
      const int column = reach.tile_u + i;
      tile[row * kTileColumns + i] =
          exists && column >= 0 && column < e.columns ? __ldg(pixels_of_row + column) : 0.f;
    }
  }
}

// of_rows<kRows>() for the least kRows, from kLeast to kMost, that is not below `rows`.
template <int kLeast, int kMost, class OfRows>
__device__ void BranchOnRows(int rows, const OfRows& of_rows) {
  if constexpr (kLeast < kMost) {
    if (rows > kLeast) return BranchOnRows<kLeast + 1, kMost>(rows, of_rows);
  }
  of_rows.template operator()<kLeast>();
}

__global__ __launch_bounds__(kThreads,
                             4) void GatherKernel(const __grid_constant__ JosephAdjointViews views,
                                                  int count, PlaneAxes axes, JosephExtent e,
                                                  Extent extent, const float* weighed,
                                                  float* volume) {
  __shared__ Reach reaches[kAdjointViews];
  __shared__ float tile[kTileRows * kTileColumns];
  __shared__ float sums[kAdjointDepth][kThreads];
  const int x0 = blockIdx.x * kBlockX, y0 = blockIdx.y * kBlockY, z0 = blockIdx.z * kAdjointDepth;
  if (threadIdx.x < count) {
    reaches[threadIdx.x] = ReachOf(views.of[threadIdx.x], axes, e, x0, y0, z0);
  }
  if (!__syncthreads_or(threadIdx.x < count && reaches[threadIdx.x].way != Way::kNone)) return;
  const int2 column = ColumnOfThread();
  const int x = x0 + column.x, y = y0 + column.y;
  float volume_run[kAdjointDepth];
  LoadRun(volume, extent, x, y, z0, volume_run);
#pragma unroll
  for (int k = 0; k < kAdjointDepth; ++k) sums[k][threadIdx.x] = volume_run[k];
  for (int i = 0; i < count; ++i) {
    const Reach reach = reaches[i];
    if (reach.way == Way::kNone) continue;
    const JosephAdjointView& view = views.of[i];
    const float* const pixels = weighed + static_cast<int64_t>(i) * e.rows * e.columns;
    const auto gather = [&](const auto& of_voxel) {
#pragma unroll 1
      for (int k = 0; k < kAdjointDepth; ++k) {
        sums[k][threadIdx.x] += of_voxel(NeighbourhoodOf(view, axes, x, y, z0 + k));
      }
    };
    if (reach.way == Way::kNear) {
      for (int k = 0; k < kAdjointDepth; ++k) {
        if (x >= extent.nx || y >= extent.ny || z0 + k >= extent.nz) break;
        const int voxel[] = {x, y, z0 + k};
        sums[k][threadIdx.x] += GatherNear(view, axes, e, pixels, voxel);
      }
    } else if (reach.way == Way::kFar) {
      gather([&](const Neighbourhood& n) { return GatherFar(n, reach, e, pixels); });
    } else {
      __syncthreads();  // all have read the tile before
      FillTile(reach, e, pixels, tile);
      __syncthreads();
      BranchOnRows<kLeastRows, kMostRows>(reach.rows, [&]<int kRows>() {
        gather([&](const Neighbourhood& n) { return GatherTile<kRows>(n, reach, e, tile); });
      });
    }
  }
#pragma unroll
  for (int k = 0; k < kAdjointDepth; ++k) volume_run[k] = sums[k][threadIdx.x];
  StoreRun(volume_run, extent, x, y, z0, volume);
}

// Device memory for a launch, in elements of four bytes: running sums, or weighed pixels.
int64_t WorkspaceOf(const Shape3& stack) {
  const int64_t columns = std::min<int64_t>(kAdjointViews, stack.slow) * stack.fast;
  return columns * (3 * int64_t{RunningPitch(stack)} + 1);
}

class BackprojectJoseph final : public ops::MatchedBackproject {
 public:
  explicit BackprojectJoseph(CudaSession& session) : session_(session) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> world,
                     const ops::ProjectionStack& projections, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(projections));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const Shape3& shape = stack->shape();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const int64_t needed = WorkspaceOf(shape);
    if (needed > workspace_.count()) {
      ISO_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(session_.stream()));
    }
    ISO_RETURN_IF_ERROR(workspace_.Reserve(session_.memory(), needed));
    for (size_t first = 0; first < world.size(); first += kAdjointViews) {
      const size_t end = std::min(world.size(), first + kAdjointViews);
      for (const PlaneAxes& axes : kPlaneAxes) {
        ISO_RETURN_IF_ERROR(AddPlanes(world.subspan(first, end - first), static_cast<int>(first),
                                      axes, shape, stack->data(), *target));
      }
    }
    return absl::OkStatus();
  }

 private:
  // What at most kAdjointViews views, of which the first is number `first` of the stack, add to the
  // planes across axes.major.
  absl::Status AddPlanes(std::span<const ProjectionMatrix> world, int first, const PlaneAxes& axes,
                         const Shape3& shape, const float* projections, Volume& volume) {
    const VolumeGrid& grid = volume.grid();
    const JosephExtent e = MakeJosephExtent(axes, grid, shape);
    CellViews upright, leaning;
    JosephAdjointViews others;
    int upright_count = 0, leaning_count = 0, other_count = 0;
    for (size_t i = 0; i < world.size(); ++i) {
      JosephAdjointView view = MakeJosephAdjointView(world[i], axes, grid, shape);
      if (!MayBeMajor(view.rays, axes.major, shape)) continue;
      view.index = first + static_cast<int>(i);
      std::optional<CellView> cells = MakeCellView(view, axes, grid, shape);
      if (!cells.has_value()) {
        others.of[other_count++] = view;
      } else if (cells->upright) {
        upright.of[upright_count++] = *cells;
      } else {
        leaning.of[leaning_count++] = *cells;
      }
    }
    ISO_RETURN_IF_ERROR(AddCells(upright, upright_count, axes, e, shape, projections, volume));
    ISO_RETURN_IF_ERROR(AddCells(leaning, leaning_count, axes, e, shape, projections, volume));
    return AddVoxels(others, other_count, axes, e, shape, projections, volume);
  }

  absl::Status AddCells(const CellViews& views, int count, const PlaneAxes& axes,
                        const JosephExtent& e, const Shape3& shape, const float* projections,
                        Volume& volume) {
    if (count == 0) return absl::OkStatus();
    const int pitch = RunningPitch(shape);
    const int64_t columns = int64_t{count} * e.columns;
    auto* const sums = reinterpret_cast<uint2*>(workspace_.data());
    auto* const third = reinterpret_cast<uint32_t*>(sums + columns * pitch);
    const RunningSums running{sums, third, reinterpret_cast<float*>(third + columns * pitch),
                              pitch};
    ISO_RETURN_IF_ERROR(SumColumns(views, count, axes, e, projections, running, session_.stream()));
    return GatherCells(views, count, axes, e, volume.grid(), running, volume.data(),
                       session_.stream());
  }

  absl::Status AddVoxels(const JosephAdjointViews& views, int count, const PlaneAxes& axes,
                         const JosephExtent& e, const Shape3& shape, const float* projections,
                         Volume& volume) {
    if (count == 0) return absl::OkStatus();
    const VolumeGrid& grid = volume.grid();
    const dim3 tiles((e.columns + 31) / 32, (e.rows + 7) / 8, count);
    WeighKernel<<<tiles, kThreads, 0, session_.stream()>>>(views, axes, e, projections,
                                                           workspace_.data());
    ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    GatherKernel<<<BlocksOf<kAdjointDepth>(grid), kThreads, 0, session_.stream()>>>(
        views, count, axes, e, ExtentOf(grid, shape), workspace_.data(), volume.data());
    return ToStatus(cudaGetLastError(), "GatherKernel");
  }

  CudaSession& session_;
  DeviceBuffer<float> workspace_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectJoseph(
    CudaSession& session) {
  return std::make_unique<BackprojectJoseph>(session);
}

int64_t BackprojectJosephBytes(const ops::Extents& extents) {
  return WorkspaceOf(extents.stack) * int64_t{sizeof(float)};
}

}  // namespace isocenter::cuda
