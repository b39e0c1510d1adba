// Gathers like backproject_siddon.cu. A thread has a run of voxels along z; the part of a ray that
// lies above their (x, y) is found once for the run and a detector column, and what lies between
// two z faces once for a row of pixels.
#include "kernels/cuda/siddon_column_gather.h"
#include "kernels/cuda/siddon_gather.cuh"

namespace isocenter::cuda {
namespace {

constexpr int kDepth = 8;
constexpr int kColumns = 5;  // of the detector, at a time

// t within a box of one voxel along one axis, of a ray that is q from its centre at t = 0.
struct Crossing {
  float enter, leave;
};
__device__ Crossing CrossingOf(float q, float d) {
  const float step = Reciprocal(fmaxf(fabsf(d), 1e-20f));
  const float at = (d < 0 ? -q : q) * step;
  return {fmaf(-0.5f, step, -at), fmaf(0.5f, step, -at)};
}

__global__ __launch_bounds__(kThreads) void ColumnGatherKernel(
    const __grid_constant__ GatheredViews views, int count, const float* scaled, Extent e,
    float* volume) {
  const int2 column = ColumnOfThread();
  const int x = blockIdx.x * kBlockX + column.x, y = blockIdx.y * kBlockY + column.y;
  const int z0 = blockIdx.z * kDepth;
  if (x >= e.nx || y >= e.ny) return;
  const float from_x = x - 0.5f * (e.nx - 1), from_y = y - 0.5f * (e.ny - 1);
  const float from_z = z0 - 0.5f * (e.nz - 1);
  const float middle_u = 0.5f * (e.columns - 1), middle_v = 0.5f * (e.rows - 1);
  float sum[kDepth];
  LoadRun(volume, e, x, y, z0, sum);
  for (int i = 0; i < count; ++i, scaled += static_cast<int64_t>(e.rows) * e.columns) {
    const GatheredView& g = views.view[i];
    const float* m = g.m;
    const auto row = [&](int first) {
      return fmaf(m[first], from_x, fmaf(m[first + 1], from_y, m[first + 3]));
    };
    const float w = row(8), r = Reciprocal(w), u = row(0) * r, vw = row(4);
    const float reach = 0.5001f * Reciprocal(w - 0.5f * (fabsf(m[8]) + fabsf(m[9])));
    const float half_u = reach * (fabsf(fmaf(-u, m[8], m[0])) + fabsf(fmaf(-u, m[9], m[1])));
    const PixelRange across = RangeAround(u + middle_u, half_u + kPixelMargin, e.columns);
    const float centre_x = (from_x - g.source[0]) * r, centre_y = (from_y - g.source[1]) * r;
    const float climb = w * g.per_row[2];  // of a ray from row to row, at the voxels' depth
    for (int first = across.first; first <= across.last; first += kColumns) {
      const int begin = min(first, e.columns - kColumns);
      float enter[kColumns], leave[kColumns];
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        const float du = w * ((begin + j - middle_u) - u);
        const float qx = du * g.per_column[0], qy = du * g.per_column[1];
        const Crossing cx = CrossingOf(qx, fmaf(qx, r, centre_x));
        const Crossing cy = CrossingOf(qy, fmaf(qy, r, centre_y));
        enter[j] = fmaxf(cx.enter, cy.enter);
        leave[j] =
            begin + j >= first && begin + j <= across.last ? fminf(cx.leave, cy.leave) : -INFINITY;
      }
#pragma unroll
      for (int k = 0; k < kDepth; ++k) {
        const float z = from_z + k, v = fmaf(m[6], z, vw) * r;
        const float half_v =
            reach * (fabsf(fmaf(-v, m[8], m[4])) + fabsf(fmaf(-v, m[9], m[5])) + fabsf(m[6]));
        const PixelRange along = RangeAround(v + middle_v, half_v + kPixelMargin, e.rows);
        const float centre_z = (z - g.source[2]) * r;
        const float* pixel = scaled + along.first * e.columns + begin;
        float part = 0;
        for (int at = along.first; at <= along.last; ++at, pixel += e.columns) {
          const float qz = climb * ((at - middle_v) - v);
          const Crossing cz = CrossingOf(qz, fmaf(qz, r, centre_z));
#pragma unroll
          for (int j = 0; j < kColumns; ++j) {
            const float inside = fminf(leave[j], cz.leave) - fmaxf(enter[j], cz.enter);
            part = fmaf(fmaxf(inside, 0.f), __ldg(pixel + j), part);
          }
        }
        sum[k] += part;
      }
    }
  }
  StoreRun(sum, e, x, y, z0, volume);
}

}  // namespace

bool ColumnsGather(const ProjectionMatrix& centered, const VolumeGrid& grid, const Shape3& stack) {
  if (stack.fast < kColumns || !ColumnsShareCrossings(centered, grid, stack)) return false;
  const double bend = std::abs(RaysOf(centered).per_column.z) * static_cast<double>(stack.fast);
  return bend * centered(2, 3) < 1e-5;  // voxels
}

absl::Status LaunchSiddonColumnGather(std::span<const ProjectionMatrix> centered,
                                      const float* scaled, const VolumeGrid& grid,
                                      const Shape3& stack, float* volume, cudaStream_t stream) {
  ColumnGatherKernel<<<BlocksOf<kDepth>(grid), kThreads, 0, stream>>>(
      GatheredViewsOf(centered), static_cast<int>(centered.size()), scaled, ExtentOf(grid, stack),
      volume);
  return ToStatus(cudaGetLastError(), "ColumnGatherKernel");
}

}  // namespace isocenter::cuda
