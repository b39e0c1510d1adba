// The rays of a view that pass one voxel, and how far: Siddon's lengths for the adjoint.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "kernels/cuda/fdk/backproject_common.cuh"
#include "kernels/cuda/projectors/rays.h"

namespace isocenter::cuda {

/// One view, for voxels x, y, z of a grid (indices): matrix to pixels, source, and how the
/// direction of a ray changes with its pixel.
struct GatheredView {
  float m[12], rest[12];  // their sum; sums of m over voxel positions are exact in float32
  float source[3], per_column[3], per_row[3];
};

struct GatheredViews {
  GatheredView view[kMaxViews];
};

/// At most kMaxViews views of voxels of `grid`.
inline GatheredViews GatheredViewsOf(std::span<const ProjectionMatrix> centered,
                                     const VolumeGrid& grid) {
  const double reach[] = {0.5 * grid.nx, 0.5 * grid.ny, 0.5 * grid.nz, 1};
  GatheredViews views;
  for (size_t i = 0; i < centered.size(); ++i) {
    const Rays rays = RaysOf(centered[i]);
    GatheredView& view = views.view[i];
    for (int row = 0; row < 3; ++row) {
      double most = 0;
      for (int a = 0; a < 4; ++a) most += std::abs(centered[i](row, a)) * reach[a];
      // Positions are multiples of a half: so are all sums, of this, and they have 24 bits at most.
      const double quantum = std::ldexp(1, std::ilogb(most) - 22);
      for (int a = 0; a < 4; ++a) {
        const double exact = centered[i](row, a);
        const double rounded = std::nearbyint(exact / quantum) * quantum;
        view.m[4 * row + a] = static_cast<float>(rounded);
        view.rest[4 * row + a] = static_cast<float>(exact - rounded);
      }
    }
    Assign(rays.source, view.source);
    Assign(rays.per_column, view.per_column);
    Assign(rays.per_row, view.per_row);
  }
  return views;
}

/// u·w, v·w or w of a voxel's centre, in two parts: what is left of u·w - (u·w) for a pixel near
/// it is then right to the last digits.
struct Split {
  float sum, rest;
};
__device__ inline Split SumOf(const GatheredView& g, int row, float x, float y, float z) {
  const auto sum = [&](const float* m) {
    return fmaf(m[0], x, fmaf(m[1], y, fmaf(m[2], z, m[3])));
  };
  return {sum(g.m + 4 * row), sum(g.rest + 4 * row)};
}
/// pixel·w - there, where `there` is of the same kind at the voxel's centre.
__device__ inline float DistanceFrom(float pixel, const Split& w, const Split& there) {
  return fmaf(pixel, w.sum, -there.sum) + fmaf(pixel, w.rest, -there.rest);
}

/// Covers the rounding of u and v.
inline constexpr float kPixelMargin = 1e-3f;

/// `pixels` around a voxel's centre that its box can be seen by, in one direction of the detector.
struct PixelRange {
  int first, last;  // last < first: none
};
__device__ inline PixelRange RangeAround(float centre, float half, int pixels) {
  const float low = fmaxf(ceilf(centre - half), 0.f);
  const float high = fminf(floorf(centre + half), static_cast<float>(pixels - 1));
  return {static_cast<int>(low), high < low ? static_cast<int>(low) - 1 : static_cast<int>(high)};
}

/// t within a box of one voxel along one axis, of a ray that is q from its centre at t = 0.
struct Crossing {
  float enter, leave;
};
__device__ inline Crossing CrossingOf(float q, float d) {
  // A ray along the faces, d = 0, never crosses them; any direction this small does as well.
  const float step = fminf(Reciprocal(d), 1e20f), at = q * step;
  return {fmaf(-0.5f, fabsf(step), -at), fmaf(0.5f, fabsf(step), -at)};
}

/// Σ over pixels of value · t inside of voxel (x, y, z) of the view, where a ray is source + t·d; t
/// is w. The voxel lies in front of the source with all its corners. A ray is found from where it
/// is at the depth of the voxel's centre, so that all positions are small and float32 is exact
/// enough. `view` [v][u].
__device__ inline float GatherRays(const GatheredView& g, float x, float y, float z,
                                   const float* view, int rows, int columns) {
  const float* m = g.m;
  const Split w2 = SumOf(g, 2, x, y, z), uw = SumOf(g, 0, x, y, z), vw = SumOf(g, 1, x, y, z);
  const float w = w2.sum + w2.rest, r = Reciprocal(w), u = uw.sum * r, v = vw.sum * r;
  // u at a corner is u + Σ ±½ (m_u - u m_w) / (w + Σ ±½ m_w).
  const float nearest = w - 0.5f * (fabsf(m[8]) + fabsf(m[9]) + fabsf(m[10]));
  const float reach = 0.5001f * Reciprocal(nearest);
  const float half_u = reach * (fabsf(fmaf(-u, m[8], m[0])) + fabsf(fmaf(-u, m[9], m[1])) +
                                fabsf(fmaf(-u, m[10], m[2])));
  const float half_v = reach * (fabsf(fmaf(-v, m[8], m[4])) + fabsf(fmaf(-v, m[9], m[5])) +
                                fabsf(fmaf(-v, m[10], m[6])));
  const float middle_u = 0.5f * (columns - 1), middle_v = 0.5f * (rows - 1);
  const PixelRange across = RangeAround(u + middle_u, half_u + kPixelMargin, columns);
  const PixelRange along = RangeAround(v + middle_v, half_v + kPixelMargin, rows);
  // At the voxel's depth a ray is q from its centre, in voxels.
  const float centre[3] = {(x - g.source[0]) * r, (y - g.source[1]) * r, (z - g.source[2]) * r};
  float sum = 0;
  for (int column = across.first; column <= across.last; ++column) {
    const float du = DistanceFrom(static_cast<float>(column) - middle_u, w2, uw);
    float q_column[3];
#pragma unroll
    for (int a = 0; a < 3; ++a) q_column[a] = du * g.per_column[a];
    const float* pixel = view + static_cast<int64_t>(along.first) * columns + column;
    for (int row = along.first; row <= along.last; ++row, pixel += columns) {
      const float dv = DistanceFrom(static_cast<float>(row) - middle_v, w2, vw);
      float enter = -INFINITY, leave = INFINITY;
#pragma unroll
      for (int a = 0; a < 3; ++a) {
        const float q = fmaf(dv, g.per_row[a], q_column[a]);
        const float d = fmaf(q, r, centre[a]);
        const Crossing crossing = CrossingOf(q, d);
        enter = fmaxf(enter, crossing.enter);
        leave = fminf(leave, crossing.leave);
      }
      sum = fmaf(fmaxf(leave - enter, 0.f), *pixel, sum);
    }
  }
  return sum;
}

}  // namespace isocenter::cuda
