// What the kernels of Joseph's projector share: which axis is a ray's major one, and where the ray
// crosses the planes of voxel centres across it (joseph_view.h).
#pragma once

#include <cmath>

#include "kernels/cuda/projectors/joseph/joseph_view.h"

namespace isocenter::cuda {

__device__ inline float At(const AffineInPixels& a, float u, float v) {
  return fmaf(a.du, u, fmaf(a.dv, v, a.at0));
}

/// Whether the major axis of pixel (u, v), relative to the middle of the detector, is that of
/// `axes`; the same for all kernels. Float32 decides where it is sure.
__device__ inline bool IsMajor(const PlaneAxes& axes, const JosephView& view, float u, float v) {
  const float major = fabsf(At(view.d_major, u, v));
  const float other = fmaxf(fabsf(At(view.d_b, u, v)), fabsf(At(view.d_c, u, v)));
  const float ahead = major - other;
  if (fabsf(ahead) > 1e-5f * (major + other)) return ahead > 0;
  const auto magnitude = [&](int i) {
    return fabs(fma(view.d[3 * i + 1], static_cast<double>(u),
                    fma(view.d[3 * i + 2], static_cast<double>(v), view.d[3 * i])));
  };
  const double x = magnitude(0), y = magnitude(1), z = magnitude(2);
  return axes.major == 0 ? x >= y && x >= z : axes.major == 1 ? y > x && y >= z : z > x && z > y;
}

/// A ray and the planes across its major axis: plane k is crossed at (b, c) plus (k - middle)
/// times the slopes.
struct JosephRay {
  float b, c, slope_b, slope_c;
  float length;  // between two planes, mm
};

__device__ inline JosephRay RayOf(const JosephView& view, const JosephExtent& e, float u, float v) {
  const float r = __frcp_rn(At(view.d_major, u, v));
  JosephRay ray;
  ray.slope_b = At(view.d_b, u, v) * r;
  ray.slope_c = At(view.d_c, u, v) * r;
  ray.b = fmaf(At(view.cross_b, u, v), r, 0.5f * (e.n_b - 1));
  ray.c = fmaf(At(view.cross_c, u, v), r, 0.5f * (e.n_c - 1));
  const float mm_b = ray.slope_b * e.spacing_b, mm_c = ray.slope_c * e.spacing_c;
  ray.length = sqrtf(fmaf(mm_b, mm_b, fmaf(mm_c, mm_c, e.spacing_major * e.spacing_major)));
  return ray;
}

/// Planes [first, end).
struct PlaneRange {
  int first, end;
};

// Planes at which `at` + (k - middle) slope may lie in (-1, n), within [first, end).
__device__ inline PlaneRange Clip(PlaneRange planes, float at, float slope, int n, float middle) {
  const float r = __frcp_rn(slope);  // infinite for rays along the axis
  const float low = (-1.01f - at) * r, high = (n + 0.01f - at) * r;
  // Where a product is 0 times infinity the ray runs along the border and the other one counts.
  const float begin = fmaxf(fminf(low, high) + middle, static_cast<float>(planes.first));
  const float end = fminf(fmaxf(low, high) + middle, static_cast<float>(planes.end));
  return {static_cast<int>(floorf(begin)), min(static_cast<int>(ceilf(end)) + 1, planes.end)};
}

/// The planes of [first, end) that are in front of the source and that the ray may cross inside
/// the volume; empty (end <= first) where there are none.
__device__ inline PlaneRange PlanesOf(const JosephView& view, const JosephExtent& e,
                                      const JosephRay& ray, float d_major, PlaneRange planes) {
  if (d_major > 0) {
    planes.first = max(planes.first, view.first);
  } else {
    planes.end = min(planes.end, view.last + 1);
  }
  if (planes.end <= planes.first) return {0, 0};
  const float middle = 0.5f * (e.n_major - 1);
  planes = Clip(planes, ray.b, ray.slope_b, e.n_b, middle);
  return Clip(planes, ray.c, ray.slope_c, e.n_c, middle);
}

}  // namespace isocenter::cuda
