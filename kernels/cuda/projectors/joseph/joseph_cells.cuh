// What one column of pixels adds to a lane's cells: those of one gap between voxels along b, and of
// a run of voxels along z.
#pragma once

#include "kernels/cuda/fdk/backproject_common.cuh"
#include "kernels/cuda/projectors/joseph/joseph.cuh"
#include "kernels/cuda/projectors/joseph/joseph_cells.h"

namespace isocenter::cuda {

inline constexpr int kRun = 8;      // voxels of a lane along z
inline constexpr int kGaps = 32;    // of a warp along b; all voxels but the first have both sides
inline constexpr int kPlanes = 16;  // of a block, one for each warp
inline constexpr int kCellBlocks = 2;  // on a multiprocessor
// Of a tile, what is in shared memory at a time, at most.
inline constexpr int kPartColumns = 192;
template <bool kUpright>
inline constexpr int kPartSums = kUpright ? 5500 : 4600;
inline constexpr float kMiddle = 0.5f * (kRun - 1);

// 1.5·2^23 + n has the bits of 1.5·2^23 plus n.
inline constexpr float kShift = 0x1.8p23f;
inline constexpr uint32_t kShiftBits = 0x4B400000;

/// A view as a block sees it: (u·w, v·w, w), from the tile's first column and row, in the middle of
/// the run at the first gap's lower voxel and the first plane, and per voxel along a, b and z.
struct ViewOfBlock {
  float u, v, w, u_a, v_a, w_a, u_b, v_b, w_b, u_z, v_z, w_z;
  int column, columns, row, rows;  // of the tile; columns is 0 where nothing is seen
  int pitch, at_a_time;            // of a part in shared memory: from column to column, and columns
  int step_columns, step_rows;     // from a thread's element of a part to its next one
};

// Of the block whose first gap's lower voxel is (a0, b0, z0) in axes of the plane.
__device__ inline ViewOfBlock ViewOf(const CellView& view, const PlaneAxes& axes,
                                     const JosephExtent& e, int a0, int b0, int z0, int part_sums) {
  const double* const m = view.m;
  const double z = z0 + 0.5 * (kRun - 1);
  ViewOfBlock of{};
  const auto at = [&](int row) {
    return m[row + axes.major] * a0 + m[row + axes.b] * b0 + m[row + 2] * z + m[row + 3];
  };
  const double u = at(0), v = at(4), w = at(8);
  of.w_a = static_cast<float>(m[8 + axes.major]);
  of.w_b = static_cast<float>(m[8 + axes.b]);
  of.w_z = static_cast<float>(m[10]);
  float u_low = INFINITY, u_high = -INFINITY, v_low = INFINITY, v_high = -INFINITY;
  for (int corner = 0; corner < 8; ++corner) {
    const float a = (corner & 1) ? kPlanes - 1 : 0, b = (corner & 2) ? kGaps : 0;
    const float dz = (corner & 4) ? 0.5f * (kRun + 1) : -0.5f * (kRun + 1);
    const auto seen = [&](int row, double middle) {
      return static_cast<float>(middle) + static_cast<float>(m[row + axes.major]) * a +
             static_cast<float>(m[row + axes.b]) * b + static_cast<float>(m[row + 2]) * dz;
    };
    const float r = Reciprocal(seen(8, w));
    const float at_u = seen(0, u) * r, at_v = seen(4, v) * r;
    u_low = fminf(u_low, at_u);
    u_high = fmaxf(u_high, at_u);
    v_low = fminf(v_low, at_v);
    v_high = fmaxf(v_high, at_v);
  }
  if (!(u_high > -0.1f && u_low < e.columns - 0.9f && v_high > -0.1f && v_low < e.rows - 0.9f)) {
    return of;
  }
  const float first_u = fmaxf(u_low, 0.f), last_u = fminf(u_high, e.columns - 1.f);
  const float first_v = fmaxf(v_low, 0.f), last_v = fminf(v_high, e.rows - 1.f);
  // Magnitudes of d over these pixels; d is given from the detector's middle as it is.
  const float half_u = 0.5f * (e.columns - 1), half_v = 0.5f * (e.rows - 1);
  const float middle_u = (view.mirrored_u ? -1 : 1) * (0.5f * (first_u + last_u) - half_u);
  const float middle_v = (view.mirrored_v ? -1 : 1) * (0.5f * (first_v + last_v) - half_v);
  const auto around = [&](const AffineInPixels& d) {
    return 0.5f * (fabsf(d.du) * (last_u - first_u) + fabsf(d.dv) * (last_v - first_v));
  };
  const auto middle = [&](const AffineInPixels& d) { return fabsf(At(d, middle_u, middle_v)); };
  const JosephView& rays = view.rays;
  const float most = 1.0001f * (middle(rays.d_major) + around(rays.d_major));
  if (most < middle(rays.d_b) - around(rays.d_b) || most < middle(rays.d_c) - around(rays.d_c)) {
    return of;
  }
  of.column = static_cast<int>(floorf(first_u));
  of.columns = static_cast<int>(ceilf(last_u)) - of.column + 1;
  of.row = static_cast<int>(floorf(v_low)) - 2;
  of.rows = static_cast<int>(ceilf(v_high)) + 3 - of.row;
  of.pitch = (of.rows + 1) | 1;
  of.at_a_time = min(part_sums / of.pitch, kPartColumns);
  of.step_columns = static_cast<int>(blockDim.x) / (of.rows + 1);
  of.step_rows = static_cast<int>(blockDim.x) % (of.rows + 1);
  const auto from_tile = [&](int row, int first, int axis) {
    return static_cast<float>(m[row + axis] - first * m[8 + axis]);
  };
  of.u = static_cast<float>(u - of.column * w);
  of.v = static_cast<float>(v - of.row * w);
  of.w = static_cast<float>(w);
  of.u_a = from_tile(0, of.column, axes.major);
  of.v_a = from_tile(4, of.row, axes.major);
  of.u_b = from_tile(0, of.column, axes.b);
  of.v_b = from_tile(4, of.row, axes.b);
  of.u_z = from_tile(0, of.column, 2);
  of.v_z = from_tile(4, of.row, 2);
  return of;
}

/// (u·w, v·w, w) in the middle of a run.
struct Seen {
  float u, v, w;
};
__device__ __forceinline__ Seen SeenAt(const ViewOfBlock& view, float a, float b) {
  return {fmaf(view.u_b, b, fmaf(view.u_a, a, view.u)),
          fmaf(view.v_b, b, fmaf(view.v_a, a, view.v)),
          fmaf(view.w_b, b, fmaf(view.w_a, a, view.w))};
}

/// Columns [first, end) of the tile.
struct ColumnRange {
  int first, end;
};

__device__ __forceinline__ ColumnRange ColumnsOf(const ViewOfBlock& view, const Seen& lower,
                                                 const Seen& upper, bool upright) {
  const float from = lower.u * Reciprocal(lower.w), to = upper.u * Reciprocal(upper.w);
  float before = 0, after = 0;
  if (!upright) {
    constexpr float kHalf = 1.02f * (kMiddle + 1);
    const float r = kHalf * Reciprocal(lower.w);
    before = fmaf(r, fabsf(fmaf(-from, view.w_z, view.u_z)), 0.01f);
    after = fmaf(r, fabsf(fmaf(-to, view.w_z, view.u_z)), 0.01f);
  }
  const float most = static_cast<float>(view.columns);
  ColumnRange range;
  range.first = static_cast<int>(fminf(fmaxf(ceilf(from - before), 0.f), most));
  range.end = static_cast<int>(fminf(fmaxf(ceilf(to + after), 0.f), most));
  return range;
}

// Of two running sums.
__device__ __forceinline__ float ToFloat(uint32_t difference) {
  return static_cast<float>(static_cast<int>(difference));
}

/// Running sums at a row of a column.
struct AtRow {
  uint2 sums;
  uint32_t row, third;  // third: of leaning columns
  float ahead;          // from where the voxel is seen to the row
};

// Where the sum over an interval's rows is asked for: `shift` is kShift and the tile's first row.
template <bool kUpright, class Tile>
__device__ __forceinline__ AtRow LookUp(const Tile& tile, float v, float shift, float least,
                                        float most) {
  float at = __fadd_ru(v, shift);
  if constexpr (!kUpright) at = fminf(fmaxf(at, least), most);
  AtRow found;
  found.ahead = (at - shift) - v;
  found.row = __float_as_uint(at);
  found.sums = tile.Sums(found.row);
  if constexpr (!kUpright) found.third = tile.Third(found.row);
  return found;
}

/// What an upright column adds to the voxels below and above the gap along b.
template <class Tile>
__device__ __forceinline__ void AddUpright(const ViewOfBlock& view, const Seen& lower, float u,
                                           float scale, float shift, const Tile& tile,
                                           float (&below)[kRun], float (&above)[kRun]) {
  const float b = fmaf(u, lower.w, -lower.u) * Reciprocal(fmaf(-u, view.w_b, view.u_b));
  const float depth = fmaf(b, view.w_b, lower.w), r = Reciprocal(depth);
  const float v0 = fmaf(b, view.v_b, lower.v) * r, v1 = view.v_z * r;
  const float per_row = depth * Reciprocal(view.v_z);
  const float of_above = b * scale, of_below = scale - of_above;
  AtRow low = LookUp<true>(tile, fmaf(v1, -kMiddle - 1, v0), shift, 0, 0);
  float before = 0;
#pragma unroll
  for (int i = 0; i <= kRun; ++i) {
    const AtRow high = LookUp<true>(tile, fmaf(v1, i - kMiddle, v0), shift, 0, 0);
    const uint32_t sum = high.sums.x - low.sums.x;
    const float all = ToFloat(sum);
    const float moment = fmaf(low.ahead, all, ToFloat(high.sums.y - low.sums.y - low.row * sum));
    if (i > 0) {
      const float value = fmaf(per_row, before - moment, all);
      below[i - 1] = fmaf(of_below, value, below[i - 1]);
      above[i - 1] = fmaf(of_above, value, above[i - 1]);
    }
    before = moment;
    low = high;
  }
}

/// Where a column passes a lattice line along z, as a row plus kShift: the same bits for both gaps.
__device__ __forceinline__ float Crossing(const ViewOfBlock& view, const Seen& line, float u,
                                          float per_lean, float shift, float least, float most) {
  const float z = fminf(fmaxf(fmaf(u, line.w, -line.u) * per_lean, -64.f), 64.f);
  const float v = fmaf(view.v_z, z, line.v) * Reciprocal(fmaf(view.w_z, z, line.w));
  return fminf(fmaxf(__fadd_ru(v, shift), least), most);
}

/// What a leaning column adds: to both voxels along b, to the one above, and what of the latter is
/// bent between two voxels along z.
template <class Tile>
__device__ __forceinline__ void AddLeaning(const ViewOfBlock& view, const Seen& lower,
                                           const Seen& upper, float u, float scale, float shift,
                                           const Tile& tile, float (&both)[kRun],
                                           float (&above)[kRun], float (&bent)[kRun + 1]) {
  const float r = Reciprocal(fmaf(-u, view.w_b, view.u_b));
  const float across = fmaf(u, view.w_z, -view.u_z);
  const float b0 = fmaf(u, lower.w, -lower.u) * r, lean = across * r;
  const float d0 = fmaf(b0, view.w_b, lower.w), d1 = fmaf(lean, view.w_b, view.w_z);
  const float per_depth = Reciprocal(d0);
  const float v0 = fmaf(b0, view.v_b, lower.v) * per_depth;
  const float v1 = fmaf(-v0, d1, fmaf(lean, view.v_b, view.v_z)) * per_depth;
  const float v2 = -v1 * d1 * per_depth;
  const float per_row = Reciprocal(v1), per_row_z = -v2 * per_row * per_row;
  const float per_lean = -Reciprocal(across);
  const float least_row = shift, most_row = shift + view.rows;
  const float at_lower = Crossing(view, lower, u, per_lean, shift, least_row, most_row);
  const float at_upper = Crossing(view, upper, u, per_lean, shift, least_row, most_row);
  const float least = lean < 0 ? at_upper : at_lower, most = lean < 0 ? at_lower : at_upper;
  const float of_b = b0 * scale, of_lean = lean * scale, of_bent = -of_lean * per_row * per_row;
  const auto look_up = [&](float z) {
    return LookUp<false>(tile, fmaf(z, fmaf(z, v2, v1), v0), shift, least, most);
  };
  AtRow low = look_up(-kMiddle - 1);
  float before = 0;
#pragma unroll
  for (int i = 0; i <= kRun; ++i) {
    const float z = i - kMiddle;
    const AtRow high = look_up(z);
    const uint32_t sum = high.sums.x - low.sums.x, second = high.sums.y - low.sums.y;
    const uint32_t first = second - low.row * sum;
    const float all = ToFloat(sum), rows = ToFloat(first);
    const float squares = ToFloat(high.third - low.third - low.row * (first + second));
    const float moment = fmaf(low.ahead, all, rows);
    const float share = moment * fmaf(per_row_z, 2 * z - 1, per_row);
    const float twice = fmaf(low.ahead, rows + moment, squares);
    bent[i] = fmaf(of_lean, share, fmaf(of_bent, twice, bent[i]));
    if (i > 0) {
      const float value = (all - share) + before;
      both[i - 1] = fmaf(scale, value, both[i - 1]);
      above[i - 1] = fmaf(fmaf(of_lean, z - 1, of_b), value, above[i - 1]);
    }
    before = share;
    low = high;
  }
}

}  // namespace isocenter::cuda
