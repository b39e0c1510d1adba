// What the voxel-driven back-projections share: how voxels are divided between threads, how a box
// of them lies on the detector, and the slow path, exact in float64, for what the fast ones leave.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "kernels/cuda/device/session.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cuda {

inline constexpr int kMaxViews = 32;  // per launch: one per lane

// A thread block covers 16 x 16 columns of voxels, a warp 8 x 4 of them: whatever the direction of
// a view, the samples of a warp lie close together.
inline constexpr int kBlockX = 16, kBlockY = 16, kThreads = kBlockX * kBlockY;
inline constexpr int kWarpX = 8, kWarpY = 4;

/// The first column of a warp, relative to its block.
__device__ inline int2 ColumnOfWarp() {
  const int warp = threadIdx.x / 32;
  constexpr int kWarpsX = kBlockX / kWarpX;
  return make_int2(warp % kWarpsX * kWarpX, warp / kWarpsX * kWarpY);
}

/// The voxel column of a thread, relative to its block. Four consecutive lanes are a square: the
/// texture unit samples for four at once, and for fewer cache lines at a time this way.
__device__ inline int2 ColumnOfThread() {
  const int lane = threadIdx.x % 32;
  const int2 warp = ColumnOfWarp();
  return make_int2(warp.x + ((lane & 1) | (lane >> 1 & 2) | (lane >> 2 & 4)),
                   warp.y + ((lane >> 1 & 1) | (lane >> 2 & 2)));
}

// 1 / value to a few units in the last place.
__device__ inline float Reciprocal(float value) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

// Below this depth (1 is the isocentre's) the sums cancel too much for float32.
inline constexpr float kLeastDepth = 0.25f;

// Voxel indices to detector pixels. By kernel parameter, not in a __constant__ symbol: concurrent
// jobs share nothing.
struct Matrices {
  float m[kMaxViews][12];
  double exact[kMaxViews][12];
};

inline void Store(const ProjectionMatrix& indexed, int i, Matrices& matrices) {
  std::copy(indexed.m.begin(), indexed.m.end(), matrices.m[i]);
  std::copy(indexed.m.begin(), indexed.m.end(), matrices.exact[i]);
}

/// Those of at most kMaxViews world matrices.
inline Matrices MakeMatrices(std::span<const ProjectionMatrix> world, const VolumeGrid& grid) {
  Matrices matrices;
  for (size_t i = 0; i < world.size(); ++i) {
    Store(ToVoxelIndices(world[i], grid), static_cast<int>(i), matrices);
  }
  return matrices;
}

// The matrices in shared memory, for lanes that look at different ones: a kernel parameter serves
// one address at a time.
struct SharedMatrices {
  float m[kMaxViews][13];  // rows of odd length lie in different banks
};

/// By all threads of the block; __syncthreads before use.
__device__ inline void Load(const Matrices& from, int views, SharedMatrices& to) {
  for (int i = threadIdx.x; i < views * 12; i += kThreads)
    to.m[i / 12][i % 12] = from.m[i / 12][i % 12];
}

struct Extent {
  int nx, ny, nz, columns, rows;
};
inline Extent ExtentOf(const VolumeGrid& grid, const Shape3& stack) {
  return {grid.nx, grid.ny, grid.nz, static_cast<int>(stack.fast), static_cast<int>(stack.middle)};
}

/// Thread blocks that cover a volume, each kDepth voxels deep.
template <int kDepth>
dim3 BlocksOf(const VolumeGrid& grid) {
  return dim3((grid.nx + kBlockX - 1) / kBlockX, (grid.ny + kBlockY - 1) / kBlockY,
              (grid.nz + kDepth - 1) / kDepth);
}

/// The most pixels between neighbouring voxels at the isocentre, where w is 1.
inline double PixelsPerVoxel(const ProjectionMatrix& world, const VolumeGrid& grid) {
  const auto m = ToVoxelIndices(world, grid).m;
  double most = 0;
  for (int axis = 0; axis < 3; ++axis) {
    most = std::max(most, std::hypot(m[axis] - world.m[3] * m[8 + axis],
                                     m[4 + axis] - world.m[7] * m[8 + axis]));
  }
  return most;
}

/// How many views from the first on, at most kMaxViews, share what `kind` says of the first. Where
/// a method chooses so, view by view, its result does not depend on how views are divided between
/// calls.
template <class Kind>
int ViewsAlike(std::span<const ProjectionMatrix> world, Kind kind) {
  size_t views = 1;
  while (views < kMaxViews && views < world.size() && kind(world[views]) == kind(world[0])) ++views;
  return static_cast<int>(views);
}

/// Exact, on devices of every kind: adds at most kMaxViews views (backproject_voxel.cu).
absl::Status LaunchVoxel(const Matrices& matrices, int views, const float* projections,
                         const VolumeGrid& grid, const Extent& extent, float* volume,
                         cudaStream_t stream);

// How a box of voxels lies on the detector in one view.
struct Footprint {
  bool touches;   // something of it may be seen
  bool in_front;  // float32 serves
  bool inside;    // every sample has its four pixels
  bool straight;  // u, v and 1/w² are linear along z within the bend that is allowed
  float u_low, u_high, v_low, v_high;  // pixels; of boxes in front
  float du_most, dv_least, dv_most;    // |du| and dv from voxel to voxel along z, likewise
};

// How far positions between the ends of a run may be off where they are interpolated, in pixels. In
// white noise it is about the relative error. The texture unit's weights are off by up to 1/512.
inline constexpr float kExactBend = 1e-4f, kFastBend = 1e-3f;

/// Of kX x kY x kZ voxels from (x0, y0, z0).
template <int kX, int kY, int kZ>
__device__ Footprint FootprintOf(const float* m, int x0, int y0, int z0, const Extent& e,
                                 float most_bend) {
  Footprint f{true,     true,      false, false,    INFINITY, -INFINITY,
              INFINITY, -INFINITY, 0,     INFINITY, -INFINITY};
  float bend = 0;
  const float change = fabsf(m[10]) * (kZ - 1) * 0.25f;
#pragma unroll
  for (int corner = 0; corner < 4; ++corner) {
    const float x = x0 + ((corner & 1) ? kX - 1 : 0);
    const float y = y0 + ((corner & 2) ? kY - 1 : 0);
    float u[2], v[2];
#pragma unroll
    for (int end = 0; end < 2; ++end) {
      const float z = z0 + end * (kZ - 1);
      const float w = m[8] * x + m[9] * y + m[10] * z + m[11];
      f.in_front = f.in_front && w > kLeastDepth;
      const float r = Reciprocal(w);
      u[end] = (m[0] * x + m[1] * y + m[2] * z + m[3]) * r;
      v[end] = (m[4] * x + m[5] * y + m[6] * z + m[7]) * r;
      f.u_low = fminf(f.u_low, u[end]);
      f.u_high = fmaxf(f.u_high, u[end]);
      f.v_low = fminf(f.v_low, v[end]);
      f.v_high = fmaxf(f.v_high, v[end]);
      bend = fmaxf(bend, change * r * fmaxf(fabsf(u[end] - u[0]), fabsf(v[end] - v[0])));
    }
    constexpr float kStep = 1.f / (kZ - 1);
    f.du_most = fmaxf(f.du_most, fabsf(u[1] - u[0]) * kStep);
    f.dv_least = fminf(f.dv_least, (v[1] - v[0]) * kStep);
    f.dv_most = fmaxf(f.dv_most, (v[1] - v[0]) * kStep);
  }
  if (!f.in_front) return f;
  // The margins cover the rounding of u and v along the run.
  f.touches =
      f.u_high > -1.1f && f.u_low < e.columns + 0.1f && f.v_high > -1.1f && f.v_low < e.rows + 0.1f;
  f.inside =
      f.u_low > 0.1f && f.u_high < e.columns - 1.1f && f.v_low > 0.1f && f.v_high < e.rows - 1.1f;
  // 1/w² bends by about 3 (Δw / 2w)², of the weight.
  f.straight = bend < most_bend && change < 0.002f;
  return f;
}

__device__ inline float SampleAnywhere(const float* view, const Extent& e, float u, float v) {
  if (!(u > -1.f && u < e.columns && v > -1.f && v < e.rows)) return 0;  // false for NaN
  const float fu = floorf(u), fv = floorf(v);
  const int x = static_cast<int>(fu), y = static_cast<int>(fv);
  const auto at = [&](int row, int column) {
    return row >= 0 && row < e.rows && column >= 0 && column < e.columns
               ? __ldg(view + row * e.columns + column)
               : 0.f;
  };
  const float top = fmaf(u - fu, at(y, x + 1) - at(y, x), at(y, x));
  const float bottom = fmaf(u - fu, at(y + 1, x + 1) - at(y + 1, x), at(y + 1, x));
  return fmaf(v - fv, bottom - top, top);
}

// Adds one view to a run of voxels along z, wherever they and their samples are, with the weight
// factor(u, v) / w². Slow and short. Float64 serves everywhere, float32 beyond kLeastDepth.
template <class Real, int kDepth, class Factor>
__device__ void AddAnywhere(const Real* m, const float* view, const Extent& e, int x, int y, int z0,
                            float (&sum)[kDepth], Factor factor) {
  const auto row = [&](int first, int z) {
    return m[first] * x + m[first + 1] * y + m[first + 2] * z + m[first + 3];
  };
#pragma unroll 1
  for (int k = 0; k < kDepth; ++k) {
    // Keeps the products with x out of registers that the sums need: this path is rare.
    asm volatile("" : "+r"(x));
    const Real w = row(8, z0 + k);
    if (!(w > 0)) continue;
    const Real r = 1 / w;
    const auto u = static_cast<float>(row(0, z0 + k) * r);
    const auto v = static_cast<float>(row(4, z0 + k) * r);
    const float sample = SampleAnywhere(view, e, u, v);
    if (sample == 0) continue;
    const float added = static_cast<float>(sample * factor(u, v) * (r * r));
    // Indexed by constants, so that the sums stay in registers.
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      if (i == k) sum[i] += added;
    }
  }
}

// The same with the weight 1/w².
template <class Real, int kDepth>
__device__ void AddAnywhere(const Real* m, const float* view, const Extent& e, int x, int y, int z0,
                            float (&sum)[kDepth]) {
  AddAnywhere(m, view, e, x, y, z0, sum, [](float, float) { return 1.f; });
}

// A thread's run of kDepth voxels along z is summed in registers. The sum goes on from the volume's
// value, so that it does not depend on how views are divided between calls. Each value is read and
// written once per launch: it shall not push projections out of the caches.
template <int kDepth>
__device__ void LoadRun(const float* volume, const Extent& e, int x, int y, int z0,
                        float (&sum)[kDepth]) {
  const float* const from = volume + (static_cast<int64_t>(z0) * e.ny + y) * e.nx + x;
#pragma unroll
  for (int k = 0; k < kDepth; ++k) {
    const bool stored = x < e.nx && y < e.ny && z0 + k < e.nz;
    sum[k] = stored ? __ldcs(from + k * (static_cast<int64_t>(e.ny) * e.nx)) : 0;
  }
}
template <int kDepth>
__device__ void StoreRun(const float (&sum)[kDepth], const Extent& e, int x, int y, int z0,
                         float* volume) {
  float* const to = volume + (static_cast<int64_t>(z0) * e.ny + y) * e.nx + x;
#pragma unroll
  for (int k = 0; k < kDepth; ++k) {
    const bool stored = x < e.nx && y < e.ny && z0 + k < e.nz;
    if (stored) __stcs(to + k * (static_cast<int64_t>(e.ny) * e.nx), sum[k]);
  }
}

}  // namespace isocenter::cuda
