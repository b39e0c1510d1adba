// One ray through a volume, from plane to plane of faces across the axis along which it goes
// furthest. In between it crosses at most one face along each of the other axes: it is in one
// column of voxels or in two, and in one of those in one voxel or in two. Lengths are Siddon's
// (Med. Phys. 12 (1985) 252); faces are counted on as by Amanatides & Woo (Eurographics 1987).
#pragma once

#include <cmath>
#include <cstdint>

namespace isocenter::cuda {

/// Number of voxels along x, y, z, and how far apart neighbours lie in memory.
template <class Index>
struct TracedGrid {
  int n[3];
  Index stride[3];
  /// 1.5 · 2^23 times a power of two so large that distances across the grid, in multiples of it,
  /// are exact in float32.
  float rounds;
};

template <class Index>
TracedGrid<Index> TracedGridOf(int nx, int ny, int nz, const Index (&stride)[3]) {
  // A ray through the grid crosses its middle plane no further from the middle than `most`, and
  // faces are no further from there than 1.5 · most: 2^22 and 2^23 times the power of two.
  const int most = nx > ny ? (nx > nz ? nx : nz) : (ny > nz ? ny : nz);
  return {{nx, ny, nz},
          {stride[0], stride[1], stride[2]},
          std::ldexp(1.5f, 23 + std::ilogb(static_cast<float>(most)) - 21)};
}

/// A ray along one axis, from below: mirrored where it comes from above.
template <class Real, class Index>
struct TracedAxis {
  double p;
  Real d;
  int n;
  Index stride;
};

/// Faces across one axis that the ray comes to, at t = ahead·step + lag, where t is the position
/// along the major axis. `ahead` is exact, so that rounding does not add up.
template <class Real>
struct TracedFaces {
  Real from, step, lag;
  Real ahead, next;

  __device__ Real At(Real distance) const { return fma(distance, step, lag); }
  __device__ void Pass() {
    ahead += 1;
    next = At(ahead);
  }
};

/// ∫ volume dt over the points p + t·d, t > first, of a grid whose middle is the origin, in voxels.
/// No voxel outside of the grid is ever read: where the grid ends is a crossing like others.
template <class Real, class Index>
__device__ inline Real TraceRay(const double (&p)[3], const Real (&direction)[3], Real first,
                                const TracedGrid<Index>& grid, const float* volume) {
  TracedAxis<Real, Index> axis[3];
  Index offset = 0;
#pragma unroll
  for (int a = 0; a < 3; ++a) {
    const bool up = !(direction[a] < 0);
    axis[a] = {up ? p[a] : -p[a], fabs(direction[a]), grid.n[a],
               up ? grid.stride[a] : -grid.stride[a]};
    if (!up) offset += grid.stride[a] * static_cast<Index>(grid.n[a] - 1);
  }
  const auto exchange = [&](int a) {
    if (!(axis[a].d > axis[0].d)) return;
    const TracedAxis<Real, Index> other = axis[a];
    axis[a] = axis[0];
    axis[0] = other;
  };
  exchange(1);
  exchange(2);

  const double per_major = 1 / static_cast<double>(axis[0].d);
  const Real half_major = static_cast<Real>(0.5) * axis[0].n;
  Real t = fmax(static_cast<Real>(axis[0].p) + first * axis[0].d, -half_major), end = half_major;
  TracedFaces<Real> faces[2];
  Real slope[2], at[2];
#pragma unroll
  for (int a = 0; a < 2; ++a) {
    const TracedAxis<Real, Index>& across = axis[a + 1];
    const double steep = across.d * per_major, exact = fma(-axis[0].p, steep, across.p);
    // A ray along the faces never crosses them; any direction this small does as well.
    constexpr Real kLeast = static_cast<Real>(1e-20);
    const Real half = static_cast<Real>(0.5) * across.n;
    slope[a] = static_cast<Real>(steep);
    at[a] = static_cast<Real>(exact) + half;
    TracedFaces<Real>& f = faces[a];
    f.from = (static_cast<Real>(exact) + grid.rounds) - grid.rounds;
    f.step = axis[0].d / fmax(across.d, kLeast * axis[0].d);
    f.lag = static_cast<Real>(f.from - exact) * f.step;
    t = fmax(t, f.At(-half - f.from));
    end = fmin(end, f.At(half - f.from));
  }
  if (!(t < end)) return 0;
  const auto passed = [](Real inside, int n) {
    return fmin(fmax(floor(inside), Real{0}), static_cast<Real>(n - 1));
  };
#pragma unroll
  for (int a = 0; a < 2; ++a) {
    const TracedAxis<Real, Index>& across = axis[a + 1];
    const Real inside = passed(fma(t, slope[a], at[a]), across.n);
    offset += across.stride * static_cast<Index>(inside);
    faces[a].ahead = (inside + 1 - static_cast<Real>(0.5) * across.n) - faces[a].from;
    faces[a].next = faces[a].At(faces[a].ahead);
  }
  const Real inside = passed(t + half_major, axis[0].n);
  offset += axis[0].stride * static_cast<Index>(inside);
  Real plane = inside + 1 - half_major;

  // What is before the ray comes in counts with the first voxel below.
  Real sum = ((plane - 1) - t) * volume[offset];
  // `length` from the plane before on to `until`. All of it counts as the first voxel's, and from
  // each crossing on what the next voxel has more: nothing is asked of a ray that crosses nothing,
  // and branches are so short that they become predicates. Voxels are read without waiting for
  // each other, so that the compiler reads those of four steps at a time.
  const auto follow = [&](Real until, Real length) {
    const Real next_0 = faces[0].next, next_1 = faces[1].next;
    const Real low = fmin(next_0, next_1), high = fmax(next_0, next_1);
    const float first = volume[offset];
    const Index step = next_0 < next_1 ? axis[1].stride : axis[2].stride;
    float second, third;
    if (low < until) second = volume[offset + step];
    if (next_0 < until) {
      offset += axis[1].stride;
      faces[0].Pass();
    }
    if (next_1 < until) {
      offset += axis[2].stride;
      faces[1].Pass();
    }
    if (high < until) third = volume[offset];
    sum = fma(length, Real{first}, sum);
    if (low < until) sum = fma(until - low, Real{second} - Real{first}, sum);
    if (high < until) sum = fma(until - high, Real{third} - Real{second}, sum);
  };
  for (; plane < end; plane += 1) {
    follow(plane, 1);
    offset += axis[0].stride;
  }
  follow(end, end - (plane - 1));
  return sum / axis[0].d;
}

}  // namespace isocenter::cuda
