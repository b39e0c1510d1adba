// Voxel-driven forward projection (Du et al. 2017) without races whose outcome depends on time:
// sums are taken in fixed-point numbers, whose order does not matter. A block holds a box of voxels
// in registers and, view after view, adds them up in the part of the view that the box falls on, in
// shared memory; one addition per pixel, not four per voxel, then goes to device memory. The lanes
// of a warp are voxels above each other: seen from a source that circles them they fall on
// different rows, so that they do not wait for each other at any angle.
#pragma once

#include <cfloat>
#include <cstdint>

#include "kernels/cuda/fdk/backproject_common.cuh"
#include "kernels/cuda/fdk/backproject_weights.cuh"
#include "kernels/cuda/fdk/tile_copy.cuh"

namespace isocenter::cuda {

inline constexpr int kScatterViews = 16;  // per launch; pieces of a voxel count as views
inline constexpr int kScatterX = 16, kScatterY = 16, kScatterZ = 32;
inline constexpr int kScatterColumns = kScatterX * kScatterY * kScatterZ / (kScatterX * kThreads);
inline constexpr int kScatterBlocks = 3;  // per multiprocessor
/// The tile also turns the box around when it is loaded: one element more per slice of it, so that
/// a warp's lanes find theirs in different banks.
inline constexpr int kSlicePitch = kScatterX * kScatterY + 1;
inline constexpr int kTilePixels = kSlicePitch * kScatterZ;

/// The largest magnitude that FixedPoint takes; what a voxel adds to a pixel is scaled to it.
inline constexpr int kMostUnits = 1 << 22;

/// `a`·`b` rounded to an integer, of magnitudes up to kMostUnits: adding 1.5·2^23 moves it into the
/// lowest bits of the sum.
__device__ inline int FixedPoint(float a, float b) {
  return __float_as_int(fmaf(a, b, 12582912.f)) - 0x4B400000;
}

/// What one launch scatters: for each view, voxel indices to pixels and sqrt(q)/w² as in MassForm,
/// scaled so that a voxel of value 1 adds at most kMostUnits and a tile does not overflow.
struct ScatterViews {
  double m[kScatterViews][12];
  double mass[kScatterViews][6];
};

/// How a block's box lies in one view; positions are relative to (column, row).
struct ScatterTile {
  float u[4], v[4], w[4];  // of voxels relative to the box's first
  float mass[6];
  int column, row, width, height, pitch;
  bool touches;
  bool fits;    // into shared memory
  bool smooth;  // sqrt(q) is a parabola along a run
};

/// The quadratic form q relative to (column, row).
__device__ __forceinline__ void PlaceMass(const double* q, ScatterTile& t) {
  const double u = t.column, v = t.row;
  t.mass[0] = static_cast<float>(q[0]);
  t.mass[1] = static_cast<float>(q[1]);
  t.mass[2] = static_cast<float>(q[2]);
  t.mass[3] = static_cast<float>(q[3] + 2 * q[0] * u + q[1] * v);
  t.mass[4] = static_cast<float>(q[4] + 2 * q[2] * v + q[1] * u);
  t.mass[5] = static_cast<float>(q[5] + u * (q[0] * u + q[1] * v + q[3]) + v * (q[2] * v + q[4]));
}

__device__ inline ScatterTile MakeScatterTile(const double* m, const double* q, int x0, int y0,
                                              int z0, const Extent& e) {
  ScatterTile t;
  double first[3];
  for (int row = 0; row < 3; ++row) {
    const double* a = m + 4 * row;
    first[row] = a[0] * x0 + a[1] * y0 + a[2] * z0 + a[3];
  }
  float u_low = INFINITY, u_high = -INFINITY, v_low = INFINITY, v_high = -INFINITY, run_u = 0,
        run_v = 0;
  bool in_front = true;
  for (int corner = 0; corner < 4; ++corner) {
    float u[2], v[2];
    for (int end = 0; end < 2; ++end) {
      const float x = end * (kScatterX - 1), y = (corner & 1) * (kScatterY - 1);
      const float z = (corner >> 1) * (kScatterZ - 1);
      const auto row = [&](int i) {
        const double* a = m + 4 * i;
        return static_cast<float>(a[0]) * x + static_cast<float>(a[1]) * y +
               static_cast<float>(a[2]) * z + static_cast<float>(first[i]);
      };
      const float w = row(2), r = 1 / w;
      in_front = in_front && w > kLeastDepth / 2;
      u[end] = row(0) * r;
      v[end] = row(1) * r;
      u_low = fminf(u_low, u[end]);
      u_high = fmaxf(u_high, u[end]);
      v_low = fminf(v_low, v[end]);
      v_high = fmaxf(v_high, v[end]);
    }
    run_u = fmaxf(run_u, fabsf(u[1] - u[0]));
    run_v = fmaxf(run_v, fabsf(v[1] - v[0]));
  }
  constexpr float kMargin = 0.05f;  // for rounding
  t.touches = !in_front || (u_high > -1 - kMargin && u_low < e.columns + kMargin &&
                            v_high > -1 - kMargin && v_low < e.rows + kMargin);
  t.fits = in_front && t.touches && u_high - u_low < kTilePixels && v_high - v_low < kTilePixels;
  t.column = t.fits ? static_cast<int>(floorf(u_low - kMargin)) : 0;
  t.row = t.fits ? static_cast<int>(floorf(v_low - kMargin)) : 0;
  t.width = t.fits ? static_cast<int>(floorf(u_high + kMargin)) + 2 - t.column : 0;
  t.height = t.fits ? static_cast<int>(floorf(v_high + kMargin)) + 2 - t.row : 0;
  t.pitch = t.width | 1;  // rows of odd length lie in different banks
  t.fits = t.fits && t.pitch * t.height <= kTilePixels;

  for (int axis = 0; axis < 4; ++axis) {
    const auto at = [&](int row) { return axis < 3 ? m[4 * row + axis] : first[row]; };
    t.u[axis] = static_cast<float>(at(0) - t.column * at(2));
    t.v[axis] = static_cast<float>(at(1) - t.row * at(2));
    t.w[axis] = static_cast<float>(at(2));
  }
  PlaceMass(q, t);
  // The length of a vector that moves on a line is a parabola but for terms of third order in the
  // way, relative to the length.
  const float way =
      t.mass[0] * run_u * run_u + fabsf(t.mass[1]) * run_u * run_v + t.mass[2] * run_v * run_v;
  t.smooth = t.fits && way < 3e-3f * t.mass[5];
  return t;
}

__device__ inline void AddShared(unsigned address, int value) {
  asm volatile("red.shared.add.s32 [%0], %1;" ::"r"(address), "r"(value));
}
template <int kOffset>
__device__ inline void AddShared(unsigned address, int value) {
  asm volatile("red.shared.add.s32 [%0 + %1], %2;" ::"r"(address), "n"(kOffset), "r"(value));
}

/// Adds a run of voxels along x, at (y, z) of the box, to the tile. `origin`: the address of the
/// tile less that of element 2^23, times 4.
template <bool kSmooth>
__device__ void ScatterRun(const ScatterTile& tile, const float (&value)[kScatterX], float y,
                           float z, unsigned origin) {
  const float du = tile.u[0], dv = tile.v[0], dw = tile.w[0];
  const float uw = fmaf(tile.u[1], y, fmaf(tile.u[2], z, tile.u[3]));
  const float vw = fmaf(tile.v[1], y, fmaf(tile.v[2], z, tile.v[3]));
  const float w = fmaf(tile.w[1], y, fmaf(tile.w[2], z, tile.w[3]));
  const float pitch = tile.pitch;
  const unsigned next_row = 4 * tile.pitch;
  const auto root_at = [&](float k) {  // of q
    const float r = Reciprocal(fmaf(k, dw, w));
    return sqrtf(Quadratic(tile.mass, fmaf(k, du, uw) * r, fmaf(k, dv, vw) * r));
  };
  constexpr float kLast = kScatterX - 1;
  const Parabola<kScatterX> root =
      kSmooth ? Parabola<kScatterX>(root_at(0), root_at(kLast / 2), root_at(kLast))
              : Parabola<kScatterX>(0, 0, 0);
#pragma unroll
  for (int k = 0; k < kScatterX; ++k) {
    const float r = Reciprocal(fmaf(k, dw, w));
    const float u = fmaf(k, du, uw) * r, v = fmaf(k, dv, vw) * r;
    const float mass = kSmooth ? root(k) : sqrtf(Quadratic(tile.mass, u, v));
    const float added = value[k] * mass * (r * r);
    const float u_bits = __fadd_rd(u, 0x1p23f), v_floor = __fadd_rd(v, 0x1p23f) - 0x1p23f;
    const float right = u - (u_bits - 0x1p23f), left = 1 - right;
    const float lower = added * (v - v_floor), upper = added - lower;
    const unsigned address = (__float_as_uint(fmaf(v_floor, pitch, u_bits)) << 2) + origin;
    AddShared<0>(address, FixedPoint(upper, left));
    AddShared<4>(address, FixedPoint(upper, right));
    AddShared<0>(address + next_row, FixedPoint(lower, left));
    AddShared<4>(address + next_row, FixedPoint(lower, right));
  }
}

/// The sums of a view, [v][u], in device memory.
struct ScatterSums {
  unsigned long long* of_view;
  int columns, rows;

  __device__ void Add(int row, int column, int value) const {
    if (value == 0 || row < 0 || row >= rows || column < 0 || column >= columns) return;
    atomicAdd(of_view + static_cast<int64_t>(row) * columns + column,
              static_cast<unsigned long long>(static_cast<long long>(value)));
  }
};

/// The same, to device memory at once: for boxes that are too large on the detector. `voxels`: how
/// many of the run are in the volume.
__device__ inline void ScatterRunAnywhere(const ScatterTile& tile, const float (&value)[kScatterX],
                                          int voxels, float y, float z, const ScatterSums& sums) {
  const auto row = [&](const float* m, int k) {
    return fmaf(m[0], k, fmaf(m[1], y, fmaf(m[2], z, m[3])));
  };
#pragma unroll
  for (int k = 0; k < kScatterX; ++k) {
    if (k >= voxels) break;
    const float r = Reciprocal(row(tile.w, k));
    const float u = row(tile.u, k) * r, v = row(tile.v, k) * r;
    const float u_floor = floorf(u), v_floor = floorf(v);
    if (!(u_floor >= -1 - tile.column && u_floor < sums.columns - tile.column &&
          v_floor >= -1 - tile.row && v_floor < sums.rows - tile.row)) {
      continue;
    }
    const float added = value[k] * sqrtf(Quadratic(tile.mass, u, v)) * (r * r);
    const float right = u - u_floor, left = 1 - right;
    const float lower = added * (v - v_floor), upper = added - lower;
    const int column = static_cast<int>(u_floor) + tile.column;
    const int at = static_cast<int>(v_floor) + tile.row;
    sums.Add(at, column, FixedPoint(upper, left));
    sums.Add(at, column + 1, FixedPoint(upper, right));
    sums.Add(at + 1, column, FixedPoint(lower, left));
    sums.Add(at + 1, column + 1, FixedPoint(lower, right));
  }
}

/// Copies a block's box of voxels, over `largest`, to `tile`; what lies beyond the volume is 0. By
/// all threads of the block; whether one of a thread's voxels is not 0.
__device__ __forceinline__ bool LoadBox(const float* volume, const Extent& e, int x0, int y0,
                                        int z0, float largest, int* tile) {
  bool any = false;
  for (int i = threadIdx.x; i < kScatterX * kScatterY * kScatterZ; i += kThreads) {
    const int x = i % kScatterX, y = i / kScatterX % kScatterY, z = i / (kScatterX * kScatterY);
    const bool stored = x0 + x < e.nx && y0 + y < e.ny && z0 + z < e.nz;
    const float value =
        stored ? __ldcs(volume + (static_cast<int64_t>(z0 + z) * e.ny + y0 + y) * e.nx + x0 + x)
               : 0;
    any = any || value != 0;
    tile[z * kSlicePitch + i % (kScatterX * kScatterY)] = __float_as_int(value / largest);
  }
  return any;
}

/// Adds `count` views of the volume to the sums: view i of the launch to view i / pieces of `sums`.
/// `peak`: the largest magnitude of a voxel; nothing is done for volumes that are zero or not
/// finite.
__global__ __launch_bounds__(kThreads, kScatterBlocks) inline void ScatterKernel(
    const __grid_constant__ ScatterViews views, int count, int pieces, Extent e,
    const float* volume, const float* peak, unsigned long long* sums) {
  __shared__ int tile[kTilePixels];
  __shared__ ScatterTile places[kScatterViews];
  __shared__ unsigned origin;
  const float largest = *peak;
  if (!(largest > 0 && largest <= FLT_MAX)) return;

  const int x0 = blockIdx.x * kScatterX, y0 = blockIdx.y * kScatterY, z0 = blockIdx.z * kScatterZ;
  const bool any = LoadBox(volume, e, x0, y0, z0, largest, tile);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x < count) {
    places[threadIdx.x] =
        MakeScatterTile(views.m[threadIdx.x], views.mass[threadIdx.x], x0, y0, z0, e);
  }
  if (threadIdx.x == 0) origin = SharedAddress(tile) - (__float_as_uint(0x1p23f) << 2);
  if (__syncthreads_or(any) == 0) return;
  float value[kScatterColumns][kScatterX];
#pragma unroll
  for (int c = 0; c < kScatterColumns; ++c) {
#pragma unroll
    for (int k = 0; k < kScatterX; ++k) {
      value[c][k] =
          __int_as_float(tile[lane * kSlicePitch + (warp * kScatterColumns + c) * kScatterX + k]);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kTilePixels; i += kThreads) tile[i] = 0;
  __syncthreads();

  const int voxels = z0 + lane < e.nz ? min(kScatterX, e.nx - x0) : 0;
  for (int i = 0; i < count; ++i) {
    const ScatterTile& place = places[i];
    if (!place.touches) continue;
    const ScatterSums to{sums + static_cast<int64_t>(i / pieces) * e.rows * e.columns, e.columns,
                         e.rows};
#pragma unroll
    for (int c = 0; c < kScatterColumns; ++c) {
      const int y = warp * kScatterColumns + c;
      if (!place.fits) {
        if (y0 + y < e.ny) ScatterRunAnywhere(place, value[c], voxels, y, lane, to);
      } else if (place.smooth) {
        ScatterRun<true>(place, value[c], y, lane, origin);
      } else {
        ScatterRun<false>(place, value[c], y, lane, origin);
      }
    }
    if (!place.fits) continue;
    __syncthreads();
    for (int row = warp; row < place.height; row += kThreads / 32) {
      for (int column = lane; column < place.width; column += 32) {
        int& sum = tile[row * place.pitch + column];
        to.Add(place.row + row, place.column + column, sum);
        sum = 0;
      }
    }
    __syncthreads();
  }
}

}  // namespace isocenter::cuda
