// The adjoint of the separable footprint: each voxel gathers the pixels of its footprint.
#include <algorithm>
#include <vector>

#include "kernels/cuda/device/view_batches.h"
#include "kernels/cuda/projectors/methods.h"
#include "kernels/cuda/projectors/separable_footprint/footprint_column_gather.h"
#include "kernels/cuda/projectors/separable_footprint/footprint_leaning_gather.h"
#include "kernels/cuda/projectors/separable_footprint/separable_footprint.cuh"

namespace isocenter::cuda {
namespace {

constexpr int kRows = 4;  // of a footprint at a time

// h_j Σ F G y of one voxel; `view` [v][u].
template <class Real>
__device__ Real GatherFootprint(const FootprintView<Real>& g, Real x, Real y, Real z,
                                const float* view, int rows, int columns) {
  constexpr Real kHalf = static_cast<Real>(0.5);
  const Seen<Real> at = SeenAt(g, x, y, z);
  const Trapezoid<Real> along_u = TrapezoidOf(g, at);
  const Rectangle<Real> along_v = RectangleOf(g, at, x, y, z, along_u.area);
  if (!(along_v.height > 0)) return 0;
  const Real middle_u = kHalf * (columns - 1), middle_v = kHalf * (rows - 1);
  const int first_u = static_cast<int>(fmax(ceil(along_u.u0 + middle_u - kHalf), Real{0}));
  const int last_u =
      static_cast<int>(fmin(floor(along_u.u3 + middle_u + kHalf), static_cast<Real>(columns - 1)));
  const int first_v = static_cast<int>(fmax(ceil(along_v.v0 + middle_v - kHalf), Real{0}));
  const int last_v =
      static_cast<int>(fmin(floor(along_v.v1 + middle_v + kHalf), static_cast<Real>(rows - 1)));
  if (first_u > last_u) return 0;
  Real sum = 0;
  for (int v = first_v; v <= last_v; v += kRows) {
    Real overlap[kRows];
    int offset[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      overlap[i] = v + i <= last_v ? Overlap(along_v, (v + i) - middle_v) : 0;
      offset[i] = min(v + i, last_v) * columns;
    }
    Real below = AreaUpTo(along_u, first_u - middle_u - kHalf);
    for (int u = first_u; u <= last_u; ++u) {
      const Real above = AreaUpTo(along_u, u - middle_u + kHalf);
      Real column = 0;
#pragma unroll
      for (int i = 0; i < kRows; ++i)
        column = fma(overlap[i], static_cast<Real>(__ldg(view + offset[i] + u)), column);
      sum = fma(above - below, column, sum);
      below = above;
    }
  }
  return along_v.height * sum;
}

template <class Real>
__global__ __launch_bounds__(kThreads) void FootprintKernel(
    const __grid_constant__ FootprintViews<Real> views, int count, const float* projections,
    Extent e, float* volume) {
  const int2 column = ColumnOfThread();
  const int x = blockIdx.x * kBlockX + column.x, y = blockIdx.y * kBlockY + column.y;
  const int z = blockIdx.z;
  if (x >= e.nx || y >= e.ny) return;
  constexpr Real kHalf = static_cast<Real>(0.5);
  const Real from_x = x - kHalf * (e.nx - 1), from_y = y - kHalf * (e.ny - 1);
  const Real from_z = z - kHalf * (e.nz - 1);
  float* const target = volume + (static_cast<int64_t>(z) * e.ny + y) * e.nx + x;
  const int64_t view_size = static_cast<int64_t>(e.rows) * e.columns;
  float sum = __ldcs(target);
  for (int i = 0; i < count; ++i) {
    sum += static_cast<float>(GatherFootprint(views.view[i], from_x, from_y, from_z,
                                              projections + i * view_size, e.rows, e.columns));
  }
  __stcs(target, sum);
}

class BackprojectSeparableFootprint final : public ops::MatchedBackproject {
 public:
  explicit BackprojectSeparableFootprint(CudaSession& session) : session_(session) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices,
                     const ops::ProjectionStack& projections, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(projections));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const Shape3& shape = stack->shape();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const VolumeGrid& grid = target->grid();
    const std::vector<ProjectionMatrix> indexed = IndexedMatrices(matrices, grid);
    for (const ViewBatch& batch :
         BoxBatchesOf(indexed, grid, FootprintViews<float>::kMost, kLeastDepth)) {
      const float* const from = stack->data() + batch.first * shape.middle * shape.fast;
      const auto views = matrices.subspan(batch.first, batch.views);
      ISO_RETURN_IF_ERROR(batch.near ? Launch<double>(views, shape, from, *target)
                                     : Launch<float>(views, shape, from, *target));
    }
    return absl::OkStatus();
  }

 private:
  enum class Kind { kGeneral, kUpright, kLeaning };

  template <class Real>
  static Kind KindOf(const ProjectionMatrix& centered, int axial, const VolumeGrid& grid,
                     const Shape3& shape) {
    if (sizeof(Real) == sizeof(double)) return Kind::kGeneral;
    if (ColumnGatherServes(centered, axial, grid, shape)) return Kind::kUpright;
    return LeaningGatherServes(centered, axial, grid, shape) ? Kind::kLeaning : Kind::kGeneral;
  }

  // Runs of views of one kind, in their order.
  template <class Real>
  absl::Status Launch(std::span<const ProjectionMatrix> world, const Shape3& shape,
                      const float* projections, Volume& volume) {
    const VolumeGrid& grid = volume.grid();
    const auto centered = [&](size_t i) {
      return Centered(ToVoxelIndices(world[i], grid), grid, shape);
    };
    std::vector<Kind> kinds;
    for (size_t i = 0; i < world.size(); ++i) {
      kinds.push_back(KindOf<Real>(centered(i), ops::AxialAxis(world[i], grid), grid, shape));
    }
    for (size_t first = 0, end = 0; first < world.size(); first = end) {
      FootprintViews<Real> views;
      while (end < world.size() && kinds[end] == kinds[first]) {
        views.view[end - first] =
            FootprintViewOf<Real>(centered(end), ops::AxialAxis(world[end], grid), grid);
        ++end;
      }
      ISO_RETURN_IF_ERROR(LaunchKind(views, static_cast<int>(end - first), kinds[first],
                                     projections + first * shape.middle * shape.fast, grid, shape,
                                     volume.data()));
    }
    return absl::OkStatus();
  }

  template <class Real>
  absl::Status LaunchKind(const FootprintViews<Real>& views, int count, Kind kind,
                          const float* projections, const VolumeGrid& grid, const Shape3& shape,
                          float* volume) {
    if constexpr (sizeof(Real) == sizeof(float)) {
      if (kind != Kind::kGeneral) {
        const int64_t most = std::min<int64_t>(shape.slow, kMaxViews);
        const bool upright = kind == Kind::kUpright;
        const auto size = upright ? ColumnGatherSize : LeaningGatherSize;
        const auto launch = upright ? LaunchFootprintColumnGather : LaunchFootprintLeaningGather;
        ISO_RETURN_IF_ERROR(turned_.Reserve(session_.memory(), size(shape, most)));
        return launch(views, count, projections, grid, shape, turned_.data(), volume,
                      session_.stream());
      }
    }
    FootprintKernel<Real><<<BlocksOf<1>(grid), kThreads, 0, session_.stream()>>>(
        views, count, projections, ExtentOf(grid, shape), volume);
    return ToStatus(cudaGetLastError(), "FootprintKernel");
  }

  CudaSession& session_;
  DeviceBuffer<float> turned_;  // a batch of views
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectSeparableFootprint(
    CudaSession& session) {
  return std::make_unique<BackprojectSeparableFootprint>(session);
}

int64_t BackprojectSeparableFootprintBytes(const ops::Extents& extents) {
  const Shape3& stack = extents.stack;
  const int64_t most = std::min<int64_t>(stack.slow, kMaxViews);
  return int64_t{sizeof(float)} *
         std::max(ColumnGatherSize(stack, most), LeaningGatherSize(stack, most));
}

}  // namespace isocenter::cuda
