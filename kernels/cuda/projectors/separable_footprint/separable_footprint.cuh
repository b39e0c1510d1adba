// The footprint of a voxel on the detector: a trapezoid along u times a rectangle along v, as the
// contract of ops::ProjectorModel::kSeparableFootprint has it (after Long, Fessler & Balter, IEEE
// TMI 29 (2010) 1839).
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/cuda/fdk/backproject_common.cuh"
#include "kernels/cuda/projectors/rays.h"

namespace isocenter::cuda {

/// One view. Voxels are counted from the grid's middle, pixels from the detector's (Centered in
/// rays.h). a is the axial axis, b and c are the others.
template <class Real>
struct FootprintView {
  Real m[12];
  Real half_b_u, half_b_w, half_c_u, half_c_w;  // half of a voxel along b or c: u·w and w
  Real half_a_v, half_a_w;
  Real spacing[3], source[3];  // mm along the grid's axes; from its middle
  Real mass;                   // volume of a voxel times |det M|: c_j without |x_j - s| / w³
};

/// `centered` (rays.h) is the view's matrix on `grid`, `axial` its axis a (ops::AxialAxis).
template <class Real>
FootprintView<Real> FootprintViewOf(const ProjectionMatrix& centered, int axial,
                                    const VolumeGrid& grid) {
  FootprintView<Real> view;
  std::copy(centered.m.begin(), centered.m.end(), view.m);
  const int b = axial == 0 ? 1 : 0, c = axial == 2 ? 1 : 2;
  const auto half = [&](int row, int axis) { return static_cast<Real>(0.5 * centered(row, axis)); };
  view.half_b_u = half(0, b);
  view.half_b_w = half(2, b);
  view.half_c_u = half(0, c);
  view.half_c_w = half(2, c);
  view.half_a_v = half(1, axial);
  view.half_a_w = half(2, axial);
  const Vec3 source = RaysOf(centered).source, spacing = grid.spacing;
  const double s[3] = {source.x, source.y, source.z}, d[3] = {spacing.x, spacing.y, spacing.z};
  for (int i = 0; i < 3; ++i) {
    view.spacing[i] = static_cast<Real>(d[i]);
    view.source[i] = static_cast<Real>(s[i] * d[i]);
  }
  const auto row = [&](int i) { return Vec3{centered(i, 0), centered(i, 1), centered(i, 2)}; };
  view.mass = static_cast<Real>(std::abs(Dot(row(0), Cross(row(1), row(2)))));
  return view;
}

template <class Real>
struct FootprintViews {
  static constexpr int kMost = sizeof(Real) == sizeof(float) ? kMaxViews : 1;
  FootprintView<Real> view[kMost];
};

/// Whether u and w stay the same from one end of the axial axis to the other, as far as float32 can
/// tell: within 1e-5 pixels.
inline bool IsUpright(const ProjectionMatrix& centered, int axial, const VolumeGrid& grid,
                      const Shape3& stack) {
  const int n[3] = {grid.nx, grid.ny, grid.nz};
  const double voxels = n[axial], half_columns = 0.5 * static_cast<double>(stack.fast);
  constexpr double kLeast = 1e-5;
  return std::abs(centered(0, axial)) * voxels < kLeast &&
         std::abs(centered(2, axial)) * voxels * half_columns < kLeast;
}

/// Where a voxel's centre is seen.
template <class Real>
struct Seen {
  Real u, v, w, r;  // r = 1 / w
};

/// Along u: rises from u0 to u1, falls from u2 to u3.
template <class Real>
struct Trapezoid {
  Real u0, u1, u2, u3;
  Real per_rise, per_fall;  // 1 / (2 (u1 - u0)), 1 / (2 (u3 - u2))
  Real area;                // not positive: the voxel adds nothing
};

__device__ inline float RootOf(float value) {
  float root;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(value));
  return root;
}
__device__ inline double RootOf(double value) { return sqrt(value); }
__device__ inline double Reciprocal(double value) { return 1 / value; }

template <class Real>
__device__ Seen<Real> SeenAt(const FootprintView<Real>& g, Real x, Real y, Real z) {
  const auto row = [&](int i) {
    return fma(g.m[i], x, fma(g.m[i + 1], y, fma(g.m[i + 2], z, g.m[i + 3])));
  };
  Seen<Real> seen;
  seen.w = row(8);
  seen.r = Reciprocal(seen.w);
  seen.u = row(0) * seen.r;
  seen.v = row(4) * seen.r;
  return seen;
}

/// The four edges along a of the voxel that is seen there.
template <class Real>
__device__ Trapezoid<Real> TrapezoidOf(const FootprintView<Real>& g, const Seen<Real>& at) {
  // (u·w + du) / (w + dw) = u + (du - u dw) / (w + dw): small numbers only.
  const Real b = fma(-at.u, g.half_b_w, g.half_b_u), c = fma(-at.u, g.half_c_w, g.half_c_u);
  const Real both = g.half_b_w + g.half_c_w, either = g.half_b_w - g.half_c_w;
  Real p = (b + c) * Reciprocal(at.w + both), q = -(b + c) * Reciprocal(at.w - both);
  Real s = (b - c) * Reciprocal(at.w + either), t = -(b - c) * Reciprocal(at.w - either);
  const auto order = [](Real& low, Real& high) {
    const Real least = fmin(low, high);
    high = fmax(low, high);
    low = least;
  };
  order(p, q);
  order(s, t);
  order(p, s);
  order(q, t);
  order(s, q);
  Trapezoid<Real> result;
  result.u0 = at.u + p;
  result.u1 = at.u + s;
  result.u2 = at.u + q;
  result.u3 = at.u + t;
  constexpr Real kLeast = static_cast<Real>(1e-18);
  result.per_rise = static_cast<Real>(0.5) * Reciprocal(fmax(s - p, kLeast));
  result.per_fall = static_cast<Real>(0.5) * Reciprocal(fmax(t - q, kLeast));
  const bool in_front = at.w - fmax(fabs(both), fabs(either)) > 0;
  result.area = in_front ? static_cast<Real>(0.5) * ((t - p) + (q - s)) : 0;
  return result;
}

/// ∫ of the trapezoid up to u.
template <class Real>
__device__ Real AreaUpTo(const Trapezoid<Real>& f, Real u) {
  const Real risen = fmin(fmax(u - f.u0, static_cast<Real>(0)), f.u1 - f.u0);
  const Real level = fmin(fmax(u - f.u1, static_cast<Real>(0)), f.u2 - f.u1);
  const Real left = fmin(fmax(f.u3 - u, static_cast<Real>(0)), f.u3 - f.u2);
  return fma(risen * risen, f.per_rise, fma(-left * left, f.per_fall, level));
}

/// Along v: 1 from v0 to v1. `height` is h_j, 0 where the voxel adds nothing.
template <class Real>
struct Rectangle {
  Real v0, v1;
  Real height;
};

/// Of voxel (x, y, z), seen at `at` with an area of its trapezoid.
template <class Real>
__device__ Rectangle<Real> RectangleOf(const FootprintView<Real>& g, const Seen<Real>& at, Real x,
                                       Real y, Real z, Real area) {
  const Real a = fma(-at.v, g.half_a_w, g.half_a_v);
  const Real up = a * Reciprocal(at.w + g.half_a_w), down = -a * Reciprocal(at.w - g.half_a_w);
  const Real length = fabs(up - down);
  const Real dx = fma(x, g.spacing[0], -g.source[0]), dy = fma(y, g.spacing[1], -g.source[1]);
  const Real dz = fma(z, g.spacing[2], -g.source[2]);
  const Real distance = RootOf(fma(dx, dx, fma(dy, dy, dz * dz)));
  const Real amount = g.mass * distance * (at.r * at.r * at.r);
  const bool seen = at.w - fabs(g.half_a_w) > 0 && area * length > 0;
  return {at.v + fmin(up, down), at.v + fmax(up, down),
          seen ? amount * Reciprocal(area * length) : 0};
}

/// How much of [v0, v1] lies in the pixel at v.
template <class Real>
__device__ Real Overlap(const Rectangle<Real>& f, Real v) {
  constexpr Real kHalf = static_cast<Real>(0.5);
  return fmax(fmin(f.v1, v + kHalf) - fmax(f.v0, v - kHalf), static_cast<Real>(0));
}

}  // namespace isocenter::cuda
