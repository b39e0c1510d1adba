// Gathers like backproject_siddon.cu. A thread has a run of voxels along z; the part of a ray that
// lies above their (x, y) is found once for the run and a detector column, and what lies between
// two z faces once for a row of pixels.
#include "kernels/cuda/projectors/siddon/siddon_column_gather.h"
#include "kernels/cuda/projectors/siddon/siddon_gather.cuh"

namespace isocenter::cuda {
namespace {

constexpr int kDepth = 8;
constexpr int kColumns = 6;  // of the detector, at a time

// Neighbours of a row of pixels; with kPairs, the first has an even index and rows have even
// lengths.
template <bool kPairs>
__device__ void LoadPixels(const float* from, float (&to)[kColumns]) {
  if constexpr (kPairs) {
#pragma unroll
    for (int j = 0; j < kColumns; j += 2) {
      const float2 pair = __ldg(reinterpret_cast<const float2*>(from + j));
      to[j] = pair.x;
      to[j + 1] = pair.y;
    }
  } else {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) to[j] = __ldg(from + j);
  }
}

// Where the rays of the columns from `begin` on enter and leave a column of voxels, whose centre is
// at (centre_x, centre_y); rays outside of `wanted` never enter it.
__device__ __forceinline__ void CrossColumns(const GatheredView& g, const Split& w, const Split& uw,
                                             float r, float centre_x, float centre_y, int begin,
                                             float middle_u, const PixelRange& wanted,
                                             float (&enter)[kColumns], float (&leave)[kColumns]) {
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    const float du = DistanceFrom(begin + j - middle_u, w, uw);
    const float qx = du * g.per_column[0], qy = du * g.per_column[1];
    const Crossing cx = CrossingOf(qx, fmaf(qx, r, centre_x));
    const Crossing cy = CrossingOf(qy, fmaf(qy, r, centre_y));
    enter[j] = fmaxf(cx.enter, cy.enter);
    leave[j] = begin + j >= wanted.first && begin + j <= wanted.last ? fminf(cx.leave, cy.leave)
                                                                     : -INFINITY;
  }
}

template <bool kPairs>
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
    const Split w2 = SumOf(g, 2, from_x, from_y, from_z), uw = SumOf(g, 0, from_x, from_y, from_z);
    const Split lowest = SumOf(g, 1, from_x, from_y, from_z);
    const float w = w2.sum + w2.rest, r = Reciprocal(w), u = uw.sum * r;
    const float reach = 0.5001f * Reciprocal(w - 0.5f * (fabsf(m[8]) + fabsf(m[9])));
    const float half_u = reach * (fabsf(fmaf(-u, m[8], m[0])) + fabsf(fmaf(-u, m[9], m[1])));
    const PixelRange across = RangeAround(u + middle_u, half_u + kPixelMargin, e.columns);
    const float centre_x = (from_x - g.source[0]) * r, centre_y = (from_y - g.source[1]) * r;
    int begin = 0;
    for (int first = across.first; first <= across.last; first = begin + kColumns) {
      begin = min(kPairs ? first & ~1 : first, e.columns - kColumns);
      float enter[kColumns], leave[kColumns];
      CrossColumns(g, w2, uw, r, centre_x, centre_y, begin, middle_u, {first, across.last}, enter,
                   leave);
#pragma unroll
      for (int k = 0; k < kDepth; ++k) {
        const Split vw{fmaf(m[6], k, lowest.sum), fmaf(g.rest[6], k, lowest.rest)};
        const float z = from_z + k, v = vw.sum * r;
        const float half_v =
            reach * (fabsf(fmaf(-v, m[8], m[4])) + fabsf(fmaf(-v, m[9], m[5])) + fabsf(m[6]));
        const PixelRange along = RangeAround(v + middle_v, half_v + kPixelMargin, e.rows);
        const float centre_z = (z - g.source[2]) * r;
        const float* pixel = scaled + along.first * e.columns + begin;
        float part = 0;
        for (int at = along.first; at <= along.last; ++at, pixel += e.columns) {
          const float qz = g.per_row[2] * DistanceFrom(at - middle_v, w2, vw);
          const Crossing cz = CrossingOf(qz, fmaf(qz, r, centre_z));
          float value[kColumns];
          LoadPixels<kPairs>(pixel, value);
#pragma unroll
          for (int j = 0; j < kColumns; ++j) {
            const float inside = fminf(leave[j], cz.leave) - fmaxf(enter[j], cz.enter);
            part = fmaf(fmaxf(inside, 0.f), value[j], part);
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
  const auto kernel = stack.fast % 2 == 0 ? ColumnGatherKernel<true> : ColumnGatherKernel<false>;
  kernel<<<BlocksOf<kDepth>(grid), kThreads, 0, stream>>>(GatheredViewsOf(centered, grid),
                                                          static_cast<int>(centered.size()), scaled,
                                                          ExtentOf(grid, stack), volume);
  return ToStatus(cudaGetLastError(), "ColumnGatherKernel");
}

}  // namespace isocenter::cuda
