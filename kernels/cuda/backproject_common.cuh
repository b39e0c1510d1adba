// What the voxel-driven back-projections share: how a block of voxels lies on the detector, and the
// slow path, exact in float64, for the few blocks around the source.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/device.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cuda {

inline constexpr int kMaxViews = 32;  // per launch: one per lane

// A thread block covers 16 x 16 voxels of a slice, a warp 8 x 4 of them: whatever the direction of
// a view, the samples of a warp lie close together.
inline constexpr int kBlockX = 16, kBlockY = 16, kThreads = kBlockX * kBlockY;
inline constexpr int kWarpX = 8, kWarpY = 4;

/// The voxel column of a thread, relative to its block.
__device__ inline int2 ColumnOfThread() {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  constexpr int kWarpsX = kBlockX / kWarpX;
  return make_int2(warp % kWarpsX * kWarpX + lane % kWarpX,
                   warp / kWarpsX * kWarpY + lane / kWarpX);
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

/// Those of at most kMaxViews world matrices.
inline Matrices MakeMatrices(std::span<const ProjectionMatrix> world, const VolumeGrid& grid) {
  Matrices matrices;
  for (size_t i = 0; i < world.size(); ++i) {
    const ProjectionMatrix indexed = ToVoxelIndices(world[i], grid);
    std::copy(indexed.m.begin(), indexed.m.end(), matrices.m[i]);
    std::copy(indexed.m.begin(), indexed.m.end(), matrices.exact[i]);
  }
  return matrices;
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

/// INVALID_ARGUMENT unless there is a view of the stack for each matrix.
inline absl::Status CheckMatrices(size_t matrices, const Shape3& stack) {
  if (static_cast<int64_t>(matrices) <= stack.slow) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(matrices, " matrices for a stack of ", stack.slow, " views"));
}

// How a block of kBlockX x kBlockY x kDepth voxels lies on the detector in one view.
struct Footprint {
  bool touches;   // something of it may be seen
  bool in_front;  // float32 serves
  bool inside;    // every sample has its four pixels
  bool straight;  // u, v and 1/w² are linear along z within kMaxBend
};

// Of a position, in pixels. Far below what interpolation between pixels costs.
inline constexpr float kMaxBend = 1e-3f;

template <int kDepth>
__device__ Footprint FootprintOf(const float* m, int x0, int y0, int z0, const Extent& e) {
  float u_low = INFINITY, u_high = -INFINITY, v_low = INFINITY, v_high = -INFINITY;
  bool in_front = true;
  float bend = 0;
  const float change = fabsf(m[10]) * (kDepth - 1) * 0.25f;
#pragma unroll
  for (int corner = 0; corner < 4; ++corner) {
    const float x = x0 + ((corner & 1) ? kBlockX - 1 : 0);
    const float y = y0 + ((corner & 2) ? kBlockY - 1 : 0);
    float u[2], v[2];
#pragma unroll
    for (int end = 0; end < 2; ++end) {
      const float z = z0 + end * (kDepth - 1);
      const float w = m[8] * x + m[9] * y + m[10] * z + m[11];
      in_front = in_front && w > kLeastDepth;
      u[end] = (m[0] * x + m[1] * y + m[2] * z + m[3]) / w;
      v[end] = (m[4] * x + m[5] * y + m[6] * z + m[7]) / w;
      u_low = fminf(u_low, u[end]);
      u_high = fmaxf(u_high, u[end]);
      v_low = fminf(v_low, v[end]);
      v_high = fmaxf(v_high, v[end]);
      bend = fmaxf(bend, change / w * fmaxf(fabsf(u[end] - u[0]), fabsf(v[end] - v[0])));
    }
  }
  if (!in_front) return {true, false, false, false};
  // The margins cover the rounding of u and v along the run.
  Footprint footprint;
  footprint.in_front = true;
  footprint.touches =
      u_high > -1.1f && u_low < e.columns + 0.1f && v_high > -1.1f && v_low < e.rows + 0.1f;
  footprint.inside =
      u_low > 0.1f && u_high < e.columns - 1.1f && v_low > 0.1f && v_high < e.rows - 1.1f;
  // 1/w² bends by about 3 (Δw / 2w)², of the weight.
  footprint.straight = bend < kMaxBend && change < 0.002f;
  return footprint;
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

// Adds one view to a run of voxels along z in float64.
template <int kDepth>
__device__ void AddExactly(const double* m, const float* view, const Extent& e, int x, int y,
                           int z0, float (&sum)[kDepth]) {
  const auto row = [&](int first, int z) {
    return m[first] * x + m[first + 1] * y + m[first + 2] * z + m[first + 3];
  };
#pragma unroll 1
  for (int k = 0; k < kDepth; ++k) {
    const double w = row(8, z0 + k);
    if (!(w > 0)) continue;
    const float sample = SampleAnywhere(view, e, static_cast<float>(row(0, z0 + k) / w),
                                        static_cast<float>(row(4, z0 + k) / w));
    if (sample == 0) continue;
    const float added = static_cast<float>(sample / (w * w));
    // Indexed by constants, so that the sums stay in registers.
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      if (i == k) sum[i] += added;
    }
  }
}

}  // namespace isocenter::cuda
