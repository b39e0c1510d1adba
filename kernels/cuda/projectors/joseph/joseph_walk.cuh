// The adjoint of Joseph's forward projector for runs of voxels along z, as the rows of a C-arm's
// detector see them: each column of pixels is walked through once for a whole run, and a pixel is
// shared between the two voxels of the run that its ray passes between.
//
// The rays of a column of pixels cross the plane of a voxel in a straight line b(z), and are seen
// along it at v(z) = (n0 + n1 z) / (d0 + d1 z), exactly. Pixels between v(k) and v(k + 1) belong to
// voxels k and k + 1. Both ends of an interval are found once and shared with its neighbours, so
// that no pixel counts twice or is left out by rounding.
#pragma once

#include "kernels/cuda/projectors/joseph/joseph_reach.cuh"

namespace isocenter::cuda {

/// What depends on the voxels alone: rows of (u·w, v·w, w) in the middle of the run, and per voxel
/// along b and z. v counts rows of the tile, in the direction of z.
struct WalkedRun {
  float uw, w, vw;
  float u_b, w_b, v_b;
  float u_z, w_z, v_z;
};

__device__ inline WalkedRun WalkedRunOf(const JosephAdjointView& view, const PlaneAxes& axes,
                                        const JosephExtent& e, const Reach& reach, float x, float y,
                                        int z0) {
  const float* const m = view.m;
  const float z = z0 + 0.5f * (kAdjointDepth - 1);
  const auto at = [&](int first) {
    return fmaf(m[first + 2], z, fmaf(m[first + 1], y, fmaf(m[first], x, m[first + 3])));
  };
  const auto along_b = [&](int first) { return axes.b == 0 ? m[first] : m[first + 1]; };
  const float middle = 0.5f * (e.rows - 1) - reach.tile_v, sign = reach.turned ? -1.f : 1.f;
  const float origin = reach.turned ? reach.tile_rows - 1 - middle : middle;
  WalkedRun run;
  run.uw = at(0);
  run.w = at(8);
  run.vw = fmaf(origin, run.w, sign * at(4));
  run.u_b = along_b(0);
  run.w_b = along_b(8);
  run.v_b = fmaf(origin, run.w_b, sign * along_b(4));
  run.u_z = m[2];
  run.w_z = m[10];
  run.v_z = fmaf(origin, run.w_z, sign * m[6]);
  return run;
}

/// A column of pixels over a run of voxels; z in voxels from the middle of the run.
template <bool kUpright>
struct WalkedColumn {
  float at_b, lean;      // where it is seen, in voxels from the run: at_b + lean·z
  float n0, n1, d0, d1;  // v(z); upright: n0 + n1 z

  __device__ WalkedColumn(const WalkedRun& run, float u) {
    const float r = Reciprocal(fmaf(-u, run.w_b, run.u_b));
    at_b = fmaf(u, run.w, -run.uw) * r;
    lean = kUpright ? 0.f : fmaf(u, run.w_z, -run.u_z) * r;
    n0 = fmaf(at_b, run.v_b, run.vw);
    n1 = fmaf(lean, run.v_b, run.v_z);
    d0 = fmaf(at_b, run.w_b, run.w);
    d1 = fmaf(lean, run.w_b, run.w_z);
    if constexpr (kUpright) {
      const float per_w = Reciprocal(d0);
      n0 *= per_w;
      n1 *= per_w;
    }
  }
  __device__ float At(float z) const {
    const float n = fmaf(z, n1, n0);
    return kUpright ? n : n * Reciprocal(fmaf(z, d1, d0));
  }
};

/// Adds to `sum` what the column adds to the voxels of the run. kRows: of pixels between two
/// voxels, at most; so many rows may be read behind those that count.
template <int kRows, bool kUpright>
__device__ void WalkColumn(const WalkedColumn<kUpright>& column, const float* pixels,
                           float (&sum)[kAdjointDepth]) {
  constexpr float kFirst = -0.5f * (kAdjointDepth - 1) - 1;  // the voxel below the run
  constexpr float kShift = 0x1p23f;                          // 2^23 + n has the bits of 2^23 plus n
  constexpr int kShiftBits = 0x4B000000;
  const float of_column = Tent(column.at_b), per_upright = Reciprocal(column.n1);
  float low = column.At(kFirst), first = __fadd_ru(low, kShift), carry = 0;
#pragma unroll
  for (int i = 0; i <= kAdjointDepth; ++i) {
    const float high = column.At(kFirst + 1 + i), end = __fadd_ru(high, kShift);
    const float per_row = kUpright ? per_upright : Reciprocal(high - low);
    const float part = ((first - kShift) - low) * per_row, count = end - first;
    const float* const pixel = pixels + (__float_as_int(first) - kShiftBits) * kTileColumns;
    const float b = fmaf(kFirst + i, column.lean, column.at_b);
    float all = 0, above = 0;  // of the interval; above: the upper voxel's share
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const float share = fmaf(row, per_row, part);
      const float there = pixel[row * kTileColumns];
      float value = row < count ? there : 0.f;
      if constexpr (!kUpright) value *= Tent(fmaf(share, column.lean, b));
      all += value;
      above = fmaf(share, value, above);
    }
    if (i > 0) {
      const float below = (all - above) + carry;
      sum[i - 1] = kUpright ? fmaf(of_column, below, sum[i - 1]) : sum[i - 1] + below;
    }
    carry = above;
    low = high;
    first = end;
  }
}

/// Adds one view, by its tile, to the run of voxels from (x, y, z0) on.
template <int kRows, bool kUpright>
__device__ void WalkTile(const JosephAdjointView& view, const PlaneAxes& axes,
                         const JosephExtent& e, const Reach& reach, float x, float y, int z0,
                         const float* tile, float (&sum)[kAdjointDepth]) {
  const WalkedRun run = WalkedRunOf(view, axes, e, reach, x, y, z0);
  const float half_u = 0.5f * (e.columns - 1);
  const float first = ceilf(fmaf(run.uw, Reciprocal(run.w), half_u) - reach.u);
  const float* pixels = tile + (static_cast<int>(first) - reach.tile_u);
  float u = first - half_u;
#pragma unroll 1
  for (int column = 0; column < reach.columns; ++column, ++pixels, u += 1) {
    WalkColumn<kRows, kUpright>(WalkedColumn<kUpright>(run, u), pixels, sum);
  }
}

}  // namespace isocenter::cuda
