// The voxel-driven forward projection of views whose source is in or near the volume, and what is
// left to do for all views: fixed-point sums become projections.
#pragma once

#include <cfloat>
#include <cstdint>

#include "kernels/cuda/fdk/backproject_common.cuh"
#include "kernels/cuda/projectors/footprint_mass.h"

namespace isocenter::cuda {

/// Raises *peak, which is not negative, to the largest magnitude of the volume; to infinity where a
/// value is not finite.
__global__ __launch_bounds__(kThreads) inline void PeakKernel(const float* volume, int64_t voxels,
                                                              float* peak) {
  float most = 0;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
#pragma unroll 4
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < voxels;
       i += stride) {
    const float size = fabsf(volume[i]);
    most = size <= FLT_MAX ? fmaxf(most, size) : INFINITY;
  }
  // Floats that are not negative are ordered as their bits are.
  most = __uint_as_float(__reduce_max_sync(0xffffffffu, __float_as_uint(most)));
  if (threadIdx.x % 32 == 0) atomicMax(reinterpret_cast<unsigned*>(peak), __float_as_uint(most));
}

/// One view in float64, for voxels at any depth.
struct NearView {
  double m[12], mass[6];
};

/// What each voxel adds: visit(u, v, added) where it falls on the detector.
template <class Visit>
__device__ void ForEachMass(const NearView& view, const Extent& e, const float* volume,
                            Visit visit) {
  const int64_t voxels = static_cast<int64_t>(e.nx) * e.ny * e.nz;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < voxels;
       i += stride) {
    const double x = i % e.nx, y = i / e.nx % e.ny, z = i / e.nx / e.ny;
    const auto row = [&](int at) {
      const double* m = view.m + at;
      return m[0] * x + m[1] * y + m[2] * z + m[3];
    };
    const double w = row(8);
    if (!(w > 0)) continue;
    const double u = row(0) / w, v = row(4) / w;
    if (!(u > -1 && u < e.columns && v > -1 && v < e.rows)) continue;
    const double* q = view.mass;
    const double square = u * (q[0] * u + q[1] * v + q[3]) + v * (q[2] * v + q[4]) + q[5];
    visit(u, v, volume[i] * sqrt(square) / (w * w));
  }
}

/// Raises *peak, not negative, to the largest magnitude that a voxel adds.
__global__ __launch_bounds__(kThreads) inline void NearPeakKernel(
    const __grid_constant__ NearView view, Extent e, const float* volume, double* peak) {
  double most = 0;
  ForEachMass(view, e, volume, [&](double, double, double added) {
    const double size = fabs(added);
    most = size <= DBL_MAX ? fmax(most, size) : INFINITY;
  });
  if (most > 0) {
    atomicMax(reinterpret_cast<unsigned long long*>(peak),
              static_cast<unsigned long long>(__double_as_longlong(most)));
  }
}

/// Adds the view to `sums`, in units of *peak / units.
__global__ __launch_bounds__(kThreads) inline void NearKernel(const __grid_constant__ NearView view,
                                                              Extent e, const float* volume,
                                                              const double* peak, double units,
                                                              unsigned long long* sums) {
  const double largest = *peak;
  if (!(largest > 0 && largest <= DBL_MAX)) return;
  ForEachMass(view, e, volume, [&](double u, double v, double added) {
    const double column = floor(u), row = floor(v), scaled = added / largest * units;
    for (int corner = 0; corner < 4; ++corner) {
      const bool right = corner & 1, lower = corner & 2;
      const int at = static_cast<int>(row) + lower, to = static_cast<int>(column) + right;
      if (at < 0 || at >= e.rows || to < 0 || to >= e.columns) continue;
      const double weight =
          (right ? u - column : 1 - (u - column)) * (lower ? v - row : 1 - (v - row));
      atomicAdd(sums + static_cast<int64_t>(at) * e.columns + to,
                static_cast<unsigned long long>(__double2ll_rn(scaled * weight)));
    }
  });
}

/// What one unit of each view's sums is, as a multiple of *peak.
struct ScatterUnits {
  double unit[32];
};

/// projections += sums, view by view (blockIdx.y). Where the peak is not finite, they become NaN.
template <class Peak>
__global__ __launch_bounds__(kThreads) void AddSumsKernel(
    const __grid_constant__ ScatterUnits units, const Peak* peak, const long long* sums,
    int64_t pixels, float* projections) {
  const double unit = units.unit[blockIdx.y] * *peak;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= pixels) return;
  const int64_t at = blockIdx.y * pixels + i;
  projections[at] = unit < INFINITY ? static_cast<float>(projections[at] + sums[at] * unit) : NAN;
}

}  // namespace isocenter::cuda
