// The adjoint of Siddon's projection: each voxel gathers the rays that pass it, with their lengths
// in its box. Nothing is added by two threads, so results are the same in every bit. Views whose
// detector columns share their crossings go to siddon_column_gather.cu, others whose columns run
// along z to siddon_walk.cu.
#include <algorithm>
#include <vector>

#include "kernels/cuda/device/view_batches.h"
#include "kernels/cuda/fdk/backproject_common.cuh"
#include "kernels/cuda/projectors/methods.h"
#include "kernels/cuda/projectors/rays.h"
#include "kernels/cuda/projectors/siddon/ray_lengths.h"
#include "kernels/cuda/projectors/siddon/siddon_column_gather.h"
#include "kernels/cuda/projectors/siddon/siddon_gather.cuh"
#include "kernels/cuda/projectors/siddon/siddon_walk.h"

namespace isocenter::cuda {
namespace {

__global__ __launch_bounds__(kThreads) void GatherKernel(
    const __grid_constant__ GatheredViews views, int count, const float* scaled, Extent e,
    float* volume) {
  const int2 column = ColumnOfThread();
  const int x = blockIdx.x * kBlockX + column.x, y = blockIdx.y * kBlockY + column.y;
  if (x >= e.nx || y >= e.ny) return;
  float* const target = volume + (static_cast<int64_t>(blockIdx.z) * e.ny + y) * e.nx + x;
  const int64_t view_size = static_cast<int64_t>(e.rows) * e.columns;
  const float from_x = x - 0.5f * (e.nx - 1), from_y = y - 0.5f * (e.ny - 1);
  const float from_z = static_cast<int>(blockIdx.z) - 0.5f * (e.nz - 1);
  float sum = __ldcs(target);
  for (int i = 0; i < count; ++i) {
    sum += GatherRays(views.view[i], from_x, from_y, from_z, scaled + i * view_size, e.rows,
                      e.columns);
  }
  __stcs(target, sum);
}

// A view whose source lies in or near the grid, in float64.
struct NearView {
  double m[12];
  double source[3], base[3], per_column[3], per_row[3];
};

__global__ __launch_bounds__(kThreads) void NearGatherKernel(const __grid_constant__ NearView view,
                                                             const float* scaled, Extent e,
                                                             float* volume) {
  const int x = blockIdx.x * kBlockX + threadIdx.x % kBlockX;
  const int y = blockIdx.y * kBlockY + threadIdx.x / kBlockX;
  if (x >= e.nx || y >= e.ny) return;
  const double index[3] = {static_cast<double>(x), static_cast<double>(y),
                           static_cast<double>(blockIdx.z)};
  const double* m = view.m;
  const auto row = [&](int i) {
    return m[i] * index[0] + m[i + 1] * index[1] + m[i + 2] * index[2] + m[i + 3];
  };
  const double w = row(8);
  const double half_w = 0.5 * (fabs(m[8]) + fabs(m[9]) + fabs(m[10]));
  if (!(w + half_w > 0)) return;
  int first_u = 0, last_u = e.columns - 1, first_v = 0, last_v = e.rows - 1;
  // A voxel that reaches the depth of the source may be seen from everywhere.
  if (w - half_w > 1e-6 * w) {
    const double u = row(0) / w, v = row(4) / w, reach = 0.5 / (w - half_w);
    const auto range = [&](const double* p, double centre, int& first, int& last) {
      const double half = 1e-6 + reach * (fabs(p[0] - centre * m[8]) + fabs(p[1] - centre * m[9]) +
                                          fabs(p[2] - centre * m[10]));
      first = static_cast<int>(fmax(ceil(centre - half), first * 1.));
      last = static_cast<int>(fmin(floor(centre + half), last * 1.));
    };
    range(m, u, first_u, last_u);
    range(m + 4, v, first_v, last_v);
  }
  double sum = 0;
  for (int v = first_v; v <= last_v; ++v) {
    for (int u = first_u; u <= last_u; ++u) {
      double enter = 0, leave = INFINITY;
      for (int a = 0; a < 3; ++a) {
        double d = view.base[a] + u * view.per_column[a] + v * view.per_row[a];
        if (fabs(d) < 1e-20) d = 1e-20;
        const double near = (index[a] - 0.5 - view.source[a]) / d;
        const double far = (index[a] + 0.5 - view.source[a]) / d;
        enter = fmax(enter, fmin(near, far));
        leave = fmin(leave, fmax(near, far));
      }
      if (leave > enter) {
        sum += (leave - enter) * scaled[static_cast<int64_t>(v) * e.columns + u];
      }
    }
  }
  volume[(static_cast<int64_t>(blockIdx.z) * e.ny + y) * e.nx + x] += static_cast<float>(sum);
}

// Which kernel serves a view; of none of its neighbours does it depend.
struct Way {
  bool columns = false;
  Walk walk = Walk::kNone;
  ScaledLayout layout;
  friend bool operator==(const Way&, const Way&) = default;
};

Way WayOf(const ProjectionMatrix& centered, const VolumeGrid& grid, const Shape3& stack) {
  const ScaledLayout plain = PlainLayout(stack);
  if (ColumnsGather(centered, grid, stack)) return {.columns = true, .layout = plain};
  const Walk walk = WalkOf(centered, grid, stack);
  return {.walk = walk,
          .layout = walk == Walk::kNone ? plain : WalkedLayout(stack, RowsFall(centered))};
}

// Floats of a view, of whichever way.
int64_t MostScaled(const Shape3& stack) { return WalkedLayout(stack, false).view_size(); }

class BackprojectSiddon final : public ops::MatchedBackproject {
 public:
  explicit BackprojectSiddon(CudaSession& session) : session_(session) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices,
                     const ops::ProjectionStack& projections, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(projections));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const Shape3& shape = stack->shape();
    if (matrices.empty()) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const VolumeGrid& grid = target->grid();
    ISO_RETURN_IF_ERROR(scaled_.Reserve(
        session_.memory(), std::min<int64_t>(matrices.size(), kMaxViews) * MostScaled(shape)));
    const std::vector<ProjectionMatrix> indexed = IndexedMatrices(matrices, grid);
    for (const ViewBatch& batch : BoxBatchesOf(indexed, grid, kMaxViews, kLeastDepth)) {
      const auto views = std::span(indexed).subspan(batch.first, batch.views);
      const float* const from = stack->data() + batch.first * shape.middle * shape.fast;
      ISO_RETURN_IF_ERROR(batch.near ? LaunchNear(views.front(), from, shape, *target)
                                     : LaunchFar(views, from, shape, *target));
    }
    return absl::OkStatus();
  }

 private:
  // Runs of views of one kind, in their order.
  absl::Status LaunchFar(std::span<const ProjectionMatrix> indexed, const float* projections,
                         const Shape3& stack, Volume& volume) {
    const VolumeGrid& grid = volume.grid();
    std::vector<ProjectionMatrix> centered;
    std::vector<Way> ways;
    for (const ProjectionMatrix& view : indexed) {
      centered.push_back(Centered(view, grid, stack));
      ways.push_back(WayOf(centered.back(), grid, stack));
    }
    for (size_t first = 0, end = 0; first < indexed.size(); first = end) {
      while (end < indexed.size() && ways[end] == ways[first]) ++end;
      ISO_RETURN_IF_ERROR(Scale(indexed.subspan(first, end - first), grid, stack,
                                projections + first * stack.middle * stack.fast,
                                ways[first].layout));
      ISO_RETURN_IF_ERROR(
          LaunchRun(ways[first], std::span(centered).subspan(first, end - first), stack, volume));
    }
    return absl::OkStatus();
  }

  absl::Status Scale(std::span<const ProjectionMatrix> indexed, const VolumeGrid& grid,
                     const Shape3& stack, const float* projections, const ScaledLayout& layout) {
    std::vector<Rays> rays;
    for (const ProjectionMatrix& view : indexed) rays.push_back(RaysOf(view));
    return ScaleByRayLength(rays, grid.spacing, stack, projections, scaled_.data(), layout,
                            session_.stream());
  }

  absl::Status LaunchRun(const Way& way, std::span<const ProjectionMatrix> run, const Shape3& stack,
                         Volume& volume) {
    const VolumeGrid& grid = volume.grid();
    const float* const scaled = scaled_.data();
    if (way.columns) {
      return LaunchSiddonColumnGather(run, scaled, grid, stack, volume.data(), session_.stream());
    }
    if (way.walk != Walk::kNone) {
      return LaunchSiddonWalk(way.walk, run, scaled, way.layout, grid, stack, volume.data(),
                              session_.stream());
    }
    GatherKernel<<<BlocksOf<1>(grid), kThreads, 0, session_.stream()>>>(
        GatheredViewsOf(run, grid), static_cast<int>(run.size()), scaled, ExtentOf(grid, stack),
        volume.data());
    return ToStatus(cudaGetLastError(), "GatherKernel");
  }

  absl::Status LaunchNear(const ProjectionMatrix& indexed, const float* projections,
                          const Shape3& stack, Volume& volume) {
    ISO_RETURN_IF_ERROR(
        Scale({&indexed, 1}, volume.grid(), stack, projections, PlainLayout(stack)));
    const Rays rays = RaysOf(indexed);
    NearView view;
    std::copy(indexed.m.begin(), indexed.m.end(), view.m);
    Assign(rays.source, view.source);
    Assign(rays.base, view.base);
    Assign(rays.per_column, view.per_column);
    Assign(rays.per_row, view.per_row);
    NearGatherKernel<<<BlocksOf<1>(volume.grid()), kThreads, 0, session_.stream()>>>(
        view, scaled_.data(), ExtentOf(volume.grid(), stack), volume.data());
    return ToStatus(cudaGetLastError(), "NearGatherKernel");
  }

  CudaSession& session_;
  DeviceBuffer<float> scaled_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectSiddon(
    CudaSession& session) {
  return std::make_unique<BackprojectSiddon>(session);
}

int64_t BackprojectSiddonBytes(const ops::Extents& extents) {
  return std::min<int64_t>(extents.stack.slow, kMaxViews) * MostScaled(extents.stack) *
         int64_t{sizeof(float)};
}

}  // namespace isocenter::cuda
