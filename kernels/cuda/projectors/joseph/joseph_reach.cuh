// Which pixels a voxel takes from in the adjoint of Joseph's forward projector, and how a block of
// voxels is best served with a view.
//
// Where a pixel's ray crosses the plane is computed from the pixel's distance to where the voxel is
// seen: nothing cancels, so that float32 is enough. With s_b the slope of the ray through the voxel
// along b, and w the voxel's depth,
//   b - j = w ((d_b,u - s_b d_a,u) δu + (d_b,v - s_b d_a,v) δv) / (1 + (d_a,u δu + d_a,v δv) / d_a)
// exactly, and c likewise.
#pragma once

#include "kernels/cuda/fdk/backproject_common.cuh"
#include "kernels/cuda/projectors/joseph/joseph.cuh"
#include "kernels/cuda/projectors/joseph/joseph_adjoint_view.h"

namespace isocenter::cuda {

inline constexpr int kAdjointDepth = 16;  // of a block, and of a thread's run of voxels
// Of the part of a view that a block of voxels takes from, in shared memory. The width is 16 modulo
// 32, so that neighbouring rows lie in different banks.
inline constexpr int kTileColumns = 80, kTileRows = 72;
inline constexpr int kLeastRows = 3, kMostRows = 7;  // of a voxel's pixels, in unrolled loops
// What may be neglected of a position, in voxels.
inline constexpr float kNegligible = 3e-5f;

__device__ inline float Tent(float x) { return __saturatef(1 - fabsf(x)); }

// How a view is added to a block of voxels.
enum class Way {
  kNone,  // no ray that counts passes
  kFlat,  // from the tile, voxel by voxel; perspective does not change along a column of pixels
  kFar,   // anywhere, in float32
  kNear   // anywhere, in float64: close to the source
};
struct Reach {
  Way way;
  float u, v;          // how far pixels may be from where a voxel is seen
  int columns, rows;   // so many pixels, at most, of one voxel
  int tile_u, tile_v;  // first column and row of the tile; they may lie beyond the view
  int tile_rows;
};

// Where a box of voxels is seen, and how far that moves per voxel along its plane's axes, times w.
struct SeenBox {
  float least_w, most_w, u_low, u_high, v_low, v_high, along_u, along_v;
};

// Of kBlockX x kBlockY x kAdjointDepth voxels from (x0, y0, z0).
__device__ __forceinline__ SeenBox SeeBox(const float* m, const PlaneAxes& axes, int x0, int y0,
                                          int z0) {
  SeenBox box{INFINITY, -INFINITY, INFINITY, -INFINITY, INFINITY, -INFINITY, 0, 0};
  for (int corner = 0; corner < 8; ++corner) {
    const float x = x0 + ((corner & 1) ? kBlockX - 1 : 0);
    const float y = y0 + ((corner & 2) ? kBlockY - 1 : 0);
    const float z = z0 + ((corner & 4) ? kAdjointDepth - 1 : 0);
    const float w = m[8] * x + m[9] * y + m[10] * z + m[11], r = 1 / w;
    const float u = (m[0] * x + m[1] * y + m[2] * z + m[3]) * r;
    const float v = (m[4] * x + m[5] * y + m[6] * z + m[7]) * r;
    box.least_w = fminf(box.least_w, w);
    box.most_w = fmaxf(box.most_w, w);
    box.u_low = fminf(box.u_low, u);
    box.u_high = fmaxf(box.u_high, u);
    box.v_low = fminf(box.v_low, v);
    box.v_high = fmaxf(box.v_high, v);
    box.along_u = fmaxf(
        box.along_u, fabsf(m[axes.b] - u * m[8 + axes.b]) + fabsf(m[axes.c] - u * m[8 + axes.c]));
    box.along_v = fmaxf(box.along_v, fabsf(m[4 + axes.b] - v * m[8 + axes.b]) +
                                         fabsf(m[4 + axes.c] - v * m[8 + axes.c]));
  }
  return box;
}

// The tile of a box of voxels that are seen within (u, v) ± reach.
__device__ inline void PlaceTile(const SeenBox& box, const JosephExtent& e, Reach& reach) {
  reach.tile_u = static_cast<int>(floorf(box.u_low - reach.u + 0.5f * (e.columns - 1)));
  reach.tile_v = static_cast<int>(floorf(box.v_low - reach.v + 0.5f * (e.rows - 1)));
  reach.tile_rows = static_cast<int>(ceilf(box.v_high - box.v_low + 2 * reach.v)) + 2;
}
__device__ inline bool TileHolds(const SeenBox& box, const Reach& reach) {
  return reach.tile_rows <= kTileRows &&
         ceilf(box.u_high - box.u_low) + reach.columns + 2 <= kTileColumns;
}

// The reach of the same voxels.
__device__ inline Reach ReachOf(const JosephAdjointView& view, const PlaneAxes& axes,
                                const JosephExtent& e, int x0, int y0, int z0) {
  const float* const m = view.m;
  const SeenBox box = SeeBox(m, axes, x0, y0, z0);
  const auto& [least_w, most_w, u_low, u_high, v_low, v_high, along_u, along_v] = box;
  const float half_u = 0.5f * (e.columns - 1), half_v = 0.5f * (e.rows - 1);
  const JosephView& rays = view.rays;
  Reach reach{Way::kNone};
  // A voxel's square, two voxels wide, may be nearer to the source than its centre.
  const float change = fabsf(m[8 + axes.b]) + fabsf(m[8 + axes.c]);
  const bool far = least_w > 10 * change && most_w < 1.5f * least_w;
  float first_u = -half_u, last_u = half_u, first_v = -half_v, last_v = half_v;
  if (far) {
    const float widened = 1 / least_w * (1 + 1.2f * change / least_w);
    reach.u = fmaf(along_u, widened, 0.01f);
    reach.v = fmaf(along_v, widened, 0.01f);
    first_u = fmaxf(u_low - reach.u, -half_u);
    last_u = fminf(u_high + reach.u, half_u);
    first_v = fmaxf(v_low - reach.v, -half_v);
    last_v = fminf(v_high + reach.v, half_v);
    if (first_u > last_u || first_v > last_v) return reach;
  } else if (!(most_w > -change)) {
    return reach;  // behind the source
  }
  // Magnitudes of d over these pixels.
  const auto middle = [&](const AffineInPixels& d) {
    return fabsf(At(d, 0.5f * (first_u + last_u), 0.5f * (first_v + last_v)));
  };
  const auto around = [&](const AffineInPixels& d) {
    return 0.5f * (fabsf(d.du) * (last_u - first_u) + fabsf(d.dv) * (last_v - first_v));
  };
  const auto least = [&](const AffineInPixels& d) { return middle(d) - around(d); };
  const float least_major = least(rays.d_major);
  const float most_major = 1.0001f * (middle(rays.d_major) + around(rays.d_major));
  if (most_major < least(rays.d_b) || most_major < least(rays.d_c)) return reach;
  // Far from the middle of a wide fan the plane may be seen from its edge.
  if (!(far && least_major > 0.1f * most_major)) {
    reach.way = Way::kNear;
    return reach;
  }
  reach.way = Way::kFar;
  reach.columns = static_cast<int>(2 * reach.u) + 1;
  reach.rows = max(static_cast<int>(2 * reach.v) + 1, kLeastRows);
  PlaceTile(box, e, reach);
  const float bent = fabsf(rays.d_major.dv) / least_major * reach.v;
  if (reach.rows <= kMostRows && bent < kNegligible && TileHolds(box, reach)) {
    reach.way = Way::kFlat;
  }
  return reach;
}

// Where a voxel lies on the detector, and how a ray's crossing of its plane moves from pixel to
// pixel: the coefficients of the formula above.
struct Neighbourhood {
  float u, v;  // relative to the middle of the detector
  float b_u, b_v, c_u, c_v, bend_u, bend_v;
};

__device__ inline Neighbourhood NeighbourhoodOf(const JosephAdjointView& view,
                                                const PlaneAxes& axes, float x, float y, float z) {
  const float* const m = view.m;
  const JosephView& rays = view.rays;
  const auto row = [&](int first) {
    return fmaf(m[first + 2], z, fmaf(m[first + 1], y, fmaf(m[first], x, m[first + 3])));
  };
  const float w = row(8), r = Reciprocal(w);
  const float dx = x - view.source[0], dy = y - view.source[1], dz = z - view.source[2];
  const float r_major = Reciprocal(axes.major == 0 ? dx : axes.major == 1 ? dy : dz);
  const float slope_b = (axes.b == 0 ? dx : dy) * r_major;
  const float slope_c = (axes.c == 1 ? dy : dz) * r_major;
  const float bend = w * r_major;
  return {row(0) * r,
          row(4) * r,
          w * fmaf(-slope_b, rays.d_major.du, rays.d_b.du),
          w * fmaf(-slope_b, rays.d_major.dv, rays.d_b.dv),
          w * fmaf(-slope_c, rays.d_major.du, rays.d_c.du),
          w * fmaf(-slope_c, rays.d_major.dv, rays.d_c.dv),
          bend * rays.d_major.du,
          bend * rays.d_major.dv};
}

}  // namespace isocenter::cuda
