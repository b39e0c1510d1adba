// A thread has a run of voxels along z. What the columns of the detector weigh is found once for
// the run, so a row of pixels is summed up with these weights once and serves all voxels that reach
// it.
#include "kernels/cuda/footprint_column_gather.h"

namespace isocenter::cuda {
namespace {

constexpr int kDepth = 8;
constexpr int kColumns = kLeastGatherColumns;  // of the detector, at a time

__global__ __launch_bounds__(kThreads) void ColumnGatherKernel(
    const __grid_constant__ FootprintViews<float> views, int count, const float* projections,
    Extent e, float* volume) {
  const int2 column = ColumnOfThread();
  const int x = blockIdx.x * kBlockX + column.x, y = blockIdx.y * kBlockY + column.y;
  const int z0 = blockIdx.z * kDepth;
  if (x >= e.nx || y >= e.ny) return;
  const float from_x = x - 0.5f * (e.nx - 1), from_y = y - 0.5f * (e.ny - 1);
  const float from_z = z0 - 0.5f * (e.nz - 1);
  const float middle_u = 0.5f * (e.columns - 1), middle_v = 0.5f * (e.rows - 1);
  float sum[kDepth];
  LoadRun(volume, e, x, y, z0, sum);
  for (int i = 0; i < count; ++i, projections += static_cast<int64_t>(e.rows) * e.columns) {
    const FootprintView<float>& g = views.view[i];
    const Seen<float> lowest = SeenAt(g, from_x, from_y, from_z);
    const Trapezoid<float> trapezoid = TrapezoidOf(g, lowest);
    const int first_u = static_cast<int>(fmaxf(ceilf(trapezoid.u0 + middle_u - 0.5f), 0.f));
    const int last_u = static_cast<int>(
        fminf(floorf(trapezoid.u3 + middle_u + 0.5f), static_cast<float>(e.columns - 1)));
    const float half = fabsf(g.half_a_v) * lowest.r, per_voxel = 2 * g.half_a_v * lowest.r;
    if (!(trapezoid.area * half > 0)) continue;
    const float amount =
        g.mass * (lowest.r * lowest.r * lowest.r) * Reciprocal(trapezoid.area * 2 * half);
    const float dx = fmaf(from_x, g.spacing[0], -g.source[0]);
    const float dy = fmaf(from_y, g.spacing[1], -g.source[1]);
    const float across = fmaf(dx, dx, dy * dy);
    int begin = 0;
    for (int first = first_u; first <= last_u; first = begin + kColumns) {
      begin = min(first, e.columns - kColumns);
      float share[kColumns];
      float below = AreaUpTo(trapezoid, begin - middle_u - 0.5f);
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        const float above = AreaUpTo(trapezoid, begin + j - middle_u + 0.5f);
        share[j] = begin + j >= first ? above - below : 0;
        below = above;
      }
      int known = -1;  // the row that `weighted` is of
      float weighted = 0;
#pragma unroll
      for (int k = 0; k < kDepth; ++k) {
        const float v = fmaf(static_cast<float>(k), per_voxel, lowest.v);
        const int begin_v = static_cast<int>(fmaxf(ceilf(v - half + middle_v - 0.5f), 0.f));
        const int end_v = static_cast<int>(
            fminf(floorf(v + half + middle_v + 0.5f), static_cast<float>(e.rows - 1)));
        const Rectangle<float> rectangle{v - half, v + half, 1};
        const float* pixel = projections + begin_v * e.columns + begin;
        float part = 0;
        for (int at = begin_v; at <= end_v; ++at, pixel += e.columns) {
          if (at != known) {
            weighted = 0;
#pragma unroll
            for (int j = 0; j < kColumns; ++j)
              weighted = fmaf(share[j], __ldg(pixel + j), weighted);
            known = at;
          }
          part = fmaf(Overlap(rectangle, at - middle_v), weighted, part);
        }
        const float dz = fmaf(from_z + k, g.spacing[2], -g.source[2]);
        sum[k] = fmaf(amount * RootOf(fmaf(dz, dz, across)), part, sum[k]);
      }
    }
  }
  StoreRun(sum, e, x, y, z0, volume);
}

}  // namespace

absl::Status LaunchFootprintColumnGather(const FootprintViews<float>& views, int count,
                                         const float* projections, const VolumeGrid& grid,
                                         const Shape3& stack, float* volume, cudaStream_t stream) {
  ColumnGatherKernel<<<BlocksOf<kDepth>(grid), kThreads, 0, stream>>>(
      views, count, projections, ExtentOf(grid, stack), volume);
  return ToStatus(cudaGetLastError(), "ColumnGatherKernel");
}

}  // namespace isocenter::cuda
