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
/// Crossings are counted, and their t computed from the count, so that rounding does not add up and
/// no voxel outside of the grid is ever read.
template <class Real, class Index>
__device__ inline Real TraceRay(const Real (&p)[3], const Real (&direction)[3], Real first,
                                const TracedGrid<Index>& grid, const float* volume) {
  Real enter[3], step[3], count[3], next[3];
  Index stride[3];
  Index offset = 0;
  Real t = first, end = INFINITY;
  constexpr Real kLeast = static_cast<Real>(1e-20);
#pragma unroll
  for (int a = 0; a < 3; ++a) {
    // A ray along the faces never crosses them; any direction this small does as well.
    const Real d = fabs(direction[a]) > kLeast ? direction[a] : kLeast;
    const Real half = static_cast<Real>(0.5) * grid.n[a];
    step[a] = 1 / fabs(d);
    // Crossing i of n + 1 is at enter + i·step.
    enter[a] = d > 0 ? (-half - p[a]) * step[a] : (p[a] - half) * step[a];
    t = fmax(t, enter[a]);
    end = fmin(end, fma(static_cast<Real>(grid.n[a]), step[a], enter[a]));
  }
  if (!(t < end)) return 0;
#pragma unroll
  for (int a = 0; a < 3; ++a) {
    const int last = grid.n[a] - 1;
    const Real inside = (t - enter[a]) / step[a];
    const int passed = inside > 0 ? (inside < last ? static_cast<int>(inside) : last) : 0;
    const bool up = !(direction[a] < -kLeast);
    stride[a] = up ? grid.stride[a] : -grid.stride[a];
    offset += grid.stride[a] * static_cast<Index>(up ? passed : last - passed);
    count[a] = static_cast<Real>(passed + 1);
    next[a] = fma(count[a], step[a], enter[a]);
  }
  Real sum = 0;
  while (true) {
    const Real nearest = fmin(next[0], fmin(next[1], next[2]));
    const Real value = volume[offset];
    sum = fma(fmin(nearest, end) - t, value, sum);
    if (!(nearest < end)) return sum;
    t = nearest;
    if (next[2] == nearest) {
      count[2] += 1;
      offset += stride[2];
      next[2] = fma(count[2], step[2], enter[2]);
    } else if (next[0] == nearest) {
      count[0] += 1;
      offset += stride[0];
      next[0] = fma(count[0], step[0], enter[0]);
    } else {
      count[1] += 1;
      offset += stride[1];
      next[1] = fma(count[1], step[1], enter[1]);
    }
  }
}

}  // namespace isocenter::cuda
