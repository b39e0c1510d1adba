// The rays of a view that pass one voxel, and how far: Siddon's lengths for the adjoint.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/cuda/backproject_common.cuh"

namespace isocenter::cuda {

/// One view, for voxels x, y, z of a grid (indices): matrix to pixels, source, and how the
/// direction of a ray changes with its pixel.
struct GatheredView {
  float m[12];
  float source[3], per_column[3], per_row[3];
};

/// `pixels` around a voxel's centre that its box can be seen by, in one direction of the detector.
struct PixelRange {
  int first, last;  // last < first: none
};
__device__ inline PixelRange RangeAround(float centre, float half, int pixels) {
  const float low = fmaxf(ceilf(centre - half), 0.f);
  const float high = fminf(floorf(centre + half), static_cast<float>(pixels - 1));
  return {static_cast<int>(low), high < low ? static_cast<int>(low) - 1 : static_cast<int>(high)};
}

/// Σ over pixels of value · t inside of voxel (x, y, z), where a ray is source + t·d; t is w. The
/// voxel lies in front of the source with all its corners. A ray is found from where it is at the
/// depth of the voxel's centre, so that all positions are small and float32 is exact enough.
/// `view` [v][u].
__device__ inline float GatherRays(const GatheredView& g, float x, float y, float z,
                                   const float* view, int rows, int columns) {
  const float* m = g.m;
  const float w = fmaf(m[8], x, fmaf(m[9], y, fmaf(m[10], z, m[11])));
  const float r = Reciprocal(w);
  const float u = fmaf(m[0], x, fmaf(m[1], y, fmaf(m[2], z, m[3]))) * r;
  const float v = fmaf(m[4], x, fmaf(m[5], y, fmaf(m[6], z, m[7]))) * r;
  // u at a corner is u + Σ ±½ (m_u - u m_w) / (w + Σ ±½ m_w).
  const float nearest = w - 0.5f * (fabsf(m[8]) + fabsf(m[9]) + fabsf(m[10]));
  const float reach = 0.5001f * Reciprocal(nearest);
  const float half_u = reach * (fabsf(fmaf(-u, m[8], m[0])) + fabsf(fmaf(-u, m[9], m[1])) +
                                fabsf(fmaf(-u, m[10], m[2])));
  const float half_v = reach * (fabsf(fmaf(-v, m[8], m[4])) + fabsf(fmaf(-v, m[9], m[5])) +
                                fabsf(fmaf(-v, m[10], m[6])));
  constexpr float kMargin = 1e-3f;  // covers the rounding of u and v
  const PixelRange across = RangeAround(u, half_u + kMargin, columns);
  const PixelRange along = RangeAround(v, half_v + kMargin, rows);
  // At the voxel's depth a ray is q from its centre, in voxels.
  const float centre[3] = {(x - g.source[0]) * r, (y - g.source[1]) * r, (z - g.source[2]) * r};
  float q_row[3];
#pragma unroll
  for (int a = 0; a < 3; ++a) q_row[a] = w * g.per_row[a];
  float sum = 0;
  for (int column = across.first; column <= across.last; ++column) {
    const float du = w * (static_cast<float>(column) - u);
    float q_column[3];
#pragma unroll
    for (int a = 0; a < 3; ++a) q_column[a] = du * g.per_column[a];
    const float* pixel = view + static_cast<int64_t>(along.first) * columns + column;
    for (int row = along.first; row <= along.last; ++row, pixel += columns) {
      const float dv = static_cast<float>(row) - v;
      float enter = -INFINITY, leave = INFINITY;
#pragma unroll
      for (int a = 0; a < 3; ++a) {
        const float q = fmaf(dv, q_row[a], q_column[a]);
        const float d = fmaf(q, r, centre[a]);
        // A ray along the faces: any direction this small does as well.
        const float step = Reciprocal(fmaxf(fabsf(d), 1e-20f));
        const float at = (d < 0 ? -q : q) * step;
        enter = fmaxf(enter, fmaf(-0.5f, step, -at));
        leave = fminf(leave, fmaf(0.5f, step, -at));
      }
      sum = fmaf(fmaxf(leave - enter, 0.f), *pixel, sum);
    }
  }
  return sum;
}

}  // namespace isocenter::cuda
