// One ray through a volume, from voxel face to voxel face: Siddon's lengths (Med. Phys. 12 (1985)
// 252) in the incremental form of Amanatides & Woo (Eurographics 1987).
#pragma once

#include <cmath>
#include <cstdint>

namespace isocenter::cuda {

/// Number of voxels along x, y, z, and how far apart neighbours lie in memory.
template <class Index>
struct TracedGrid {
  int n[3];
  Index stride[3];
};

/// ∫ volume dt over the points p + t·d, t > first, of a grid whose middle is the origin, in voxels.
/// The t of a crossing is computed from its face, so that rounding does not add up and no voxel
/// outside of the grid is ever read.
template <class Real, class Index>
__device__ inline Real TraceRay(const double (&p)[3], const Real (&direction)[3], Real first,
                                const TracedGrid<Index>& grid, const float* volume) {
  // Of a ray that comes along each axis from below; mirrored where it comes from above.
  // What float32 leaves of a point, `rest`, counts where a ray is nearly along the faces.
  Real from[3], rest[3], step[3], face[3], next[3];
  Index stride[3];
  Index offset = 0;
  Real t = first, end = INFINITY;
#pragma unroll
  for (int a = 0; a < 3; ++a) {
    // A ray along the faces never crosses them; any direction this small does as well.
    constexpr Real kLeast = static_cast<Real>(1e-20);
    const Real half = static_cast<Real>(0.5) * grid.n[a];
    const bool up = !(direction[a] < -kLeast);
    const double exact = up ? p[a] : -p[a];
    from[a] = static_cast<Real>(exact);
    rest[a] = static_cast<Real>(exact - from[a]);
    step[a] = 1 / fmax(fabs(direction[a]), kLeast);
    stride[a] = up ? grid.stride[a] : -grid.stride[a];
    if (!up) offset += grid.stride[a] * static_cast<Index>(grid.n[a] - 1);
    t = fmax(t, ((-half - from[a]) - rest[a]) * step[a]);
    end = fmin(end, ((half - from[a]) - rest[a]) * step[a]);
  }
  if (!(t < end)) return 0;
#pragma unroll
  for (int a = 0; a < 3; ++a) {
    const Real half = static_cast<Real>(0.5) * grid.n[a];
    const Real inside = floor(t / step[a] + from[a] + half);
    const Real passed = fmin(fmax(inside, Real{0}), static_cast<Real>(grid.n[a] - 1));
    offset += stride[a] * static_cast<Index>(passed);
    face[a] = passed + 1 - half;
    next[a] = ((face[a] - from[a]) - rest[a]) * step[a];
  }
  Real sum = 0;
  while (true) {
    const Real nearest = fmin(next[0], fmin(next[1], next[2]));
    const Real value = volume[offset];
    sum = fma(fmin(nearest, end) - t, value, sum);
    if (!(nearest < end)) return sum;
    t = nearest;
    const auto cross = [&](int a) {
      face[a] += 1;
      offset += stride[a];
      next[a] = ((face[a] - from[a]) - rest[a]) * step[a];
    };
    if (next[2] == nearest) {
      cross(2);
    } else if (next[0] == nearest) {
      cross(0);
    } else {
      cross(1);
    }
  }
}

}  // namespace isocenter::cuda
