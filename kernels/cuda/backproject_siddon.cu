// The adjoint of Siddon's projection for general matrices: each voxel gathers the rays that pass
// it, with their lengths in its box. Nothing is added by two threads, so results are the same in
// every bit.
#include <algorithm>
#include <vector>

#include "kernels/cuda/backproject_common.cuh"
#include "kernels/cuda/methods.h"
#include "kernels/cuda/ray_lengths.h"
#include "kernels/cuda/rays.h"
#include "kernels/cuda/siddon_gather.cuh"

namespace isocenter::cuda {
namespace {

struct GatheredViews {
  GatheredView view[kMaxViews];
};

__global__ __launch_bounds__(kThreads) void GatherKernel(
    const __grid_constant__ GatheredViews views, int count, const float* scaled, Extent e,
    float* volume) {
  const int2 column = ColumnOfThread();
  const int x = blockIdx.x * kBlockX + column.x, y = blockIdx.y * kBlockY + column.y;
  if (x >= e.nx || y >= e.ny) return;
  float* const target = volume + (static_cast<int64_t>(blockIdx.z) * e.ny + y) * e.nx + x;
  const int64_t view_size = static_cast<int64_t>(e.rows) * e.columns;
  float sum = __ldcs(target);
  for (int i = 0; i < count; ++i) {
    sum += GatherRays(views.view[i], x, y, blockIdx.z, scaled + i * view_size, e.rows, e.columns);
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

template <class Real>
void Assign(Vec3 from, Real (&to)[3]) {
  to[0] = static_cast<Real>(from.x);
  to[1] = static_cast<Real>(from.y);
  to[2] = static_cast<Real>(from.z);
}

class BackprojectSiddon final : public ops::MatchedBackproject {
 public:
  explicit BackprojectSiddon(CudaDevice& device) : device_(device) {}

  absl::Status Run(std::span<const ProjectionMatrix> matrices,
                   const ops::ProjectionStack& projections, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(projections, ops::StackUse::kProjections));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const Shape3& shape = stack->shape();
    ISO_RETURN_IF_ERROR(CheckMatrices(matrices.size(), shape));
    if (matrices.empty()) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(device_.MakeCurrent());
    const VolumeGrid& grid = target->grid();
    const int64_t view_size = shape.middle * shape.fast;
    ISO_RETURN_IF_ERROR(scaled_.Reserve(std::min<int64_t>(matrices.size(), kMaxViews) * view_size));
    std::vector<ProjectionMatrix> indexed;
    for (const ProjectionMatrix& matrix : matrices) {
      indexed.push_back(ToVoxelIndices(matrix, grid));
    }
    for (const ViewBatch& batch : BoxBatchesOf(indexed, grid, kMaxViews, kLeastDepth)) {
      const auto views = std::span(indexed).subspan(batch.first, batch.views);
      std::vector<Rays> rays;
      for (const ProjectionMatrix& view : views) rays.push_back(RaysOf(view));
      ISO_RETURN_IF_ERROR(ScaleByRayLength(rays, grid.spacing, shape,
                                           stack->data() + batch.first * view_size, scaled_.data(),
                                           device_.stream()));
      const Extent extent = ExtentOf(grid, shape);
      if (batch.near) {
        ISO_RETURN_IF_ERROR(LaunchNear(views.front(), rays.front(), extent, *target));
      } else {
        ISO_RETURN_IF_ERROR(Launch(views, rays, extent, *target));
      }
    }
    return absl::OkStatus();
  }

  int64_t WorkspaceBytes(const VolumeGrid&, Shape3 projections) const override {
    return std::min<int64_t>(projections.slow, kMaxViews) * projections.middle * projections.fast *
           int64_t{sizeof(float)};
  }

 private:
  absl::Status Launch(std::span<const ProjectionMatrix> indexed, std::span<const Rays> rays,
                      const Extent& extent, Volume& volume) {
    GatheredViews views;
    for (size_t i = 0; i < indexed.size(); ++i) {
      GatheredView& view = views.view[i];
      std::copy(indexed[i].m.begin(), indexed[i].m.end(), view.m);
      Assign(rays[i].source, view.source);
      Assign(rays[i].per_column, view.per_column);
      Assign(rays[i].per_row, view.per_row);
    }
    GatherKernel<<<BlocksOf<1>(volume.grid()), kThreads, 0, device_.stream()>>>(
        views, static_cast<int>(indexed.size()), scaled_.data(), extent, volume.data());
    return ToStatus(cudaGetLastError(), "GatherKernel");
  }

  absl::Status LaunchNear(const ProjectionMatrix& indexed, const Rays& rays, const Extent& extent,
                          Volume& volume) {
    NearView view;
    std::copy(indexed.m.begin(), indexed.m.end(), view.m);
    Assign(rays.source, view.source);
    Assign(rays.base, view.base);
    Assign(rays.per_column, view.per_column);
    Assign(rays.per_row, view.per_row);
    NearGatherKernel<<<BlocksOf<1>(volume.grid()), kThreads, 0, device_.stream()>>>(
        view, scaled_.data(), extent, volume.data());
    return ToStatus(cudaGetLastError(), "NearGatherKernel");
  }

  CudaDevice& device_;
  DeviceBuffer<float> scaled_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectSiddon(CudaDevice& device) {
  return std::make_unique<BackprojectSiddon>(device);
}

}  // namespace isocenter::cuda
