// The object of physics::ScatterVolume: where a half-line is inside, what it meets.
#pragma once

#include "kernels/cuda/physics/sections.cuh"
#include "kernels/cuda/physics/vector3.cuh"

namespace isocenter::cuda {

struct Span {
  double begin, end;
};

__device__ inline Point3 ToCells(const CellsOnDevice& cells, Point3 point) {
  const Point3 offset = point - cells.low;
  return {offset.x / cells.cell_mm.x, offset.y / cells.cell_mm.y, offset.z / cells.cell_mm.z};
}

// Of the part inside what lies between two faces; false where all of it is outside.
__device__ inline bool ClipAxis(double o, double d, int count, Span& inside) {
  if (d == 0) return o >= 0 && o <= count;
  const double r = -o / d, s = (count - o) / d;
  inside.begin = fmax(inside.begin, fmin(r, s));
  inside.end = fmin(inside.end, fmax(r, s));
  return true;
}

__device__ inline Span Clip(const CellsOnDevice& cells, Point3 origin, Point3 direction) {
  const Point3 o = ToCells(cells, origin), d = ToCells(cells, cells.low + direction);
  Span inside{0, __longlong_as_double(0x7FF0000000000000)};
  if (!ClipAxis(o.x, d.x, cells.counts[0], inside) ||
      !ClipAxis(o.y, d.y, cells.counts[1], inside) ||
      !ClipAxis(o.z, d.z, cells.counts[2], inside)) {
    return {0, 0};
  }
  return inside;
}

__device__ inline int ClampedCell(double position, int count) {
  return min(max(static_cast<int>(position), 0), count - 1);
}

__device__ inline float4 AmountsAt(const CellsOnDevice& cells, Point3 point) {
  const Point3 p = ToCells(cells, point);
  return __ldg(cells.amounts + (ClampedCell(p.x, cells.counts[0]) + 1) * cells.strides[0] +
               (ClampedCell(p.y, cells.counts[1]) + 1) * cells.strides[1] +
               (ClampedCell(p.z, cells.counts[2]) + 1) * cells.strides[2]);
}

// One axis of a walk from border to border (Amanatides, Woo 1987), float32 as phantom::LatticeWalk.
struct WalkAxis {
  float border, step;  // mm
  int jump;            // in cells

  __device__ WalkAxis(float origin, float slope, int count, int stride, int& offset) {
    constexpr float kLevel = 1e-20f, kNever = 1e30f;
    const int index = min(max(static_cast<int>(floorf(origin)), 0), count - 1);
    const bool forward = slope > 0, level = fabsf(slope) < kLevel;
    border = level ? kNever : (static_cast<float>(index + forward) - origin) / slope;
    step = level ? kNever : 1 / fabsf(slope);
    jump = forward ? stride : -stride;
    offset += index * stride;
  }
  __device__ int Cross(float next) {
    if (border > next) return 0;
    border += step;
    return jump;
  }
};

// Millimetres of each material on the half-line from a point inside.
__device__ inline float4 PathsMm(const CellsOnDevice& cells, Point3 origin, Point3 direction) {
  const Span inside = Clip(cells, origin, direction);
  float4 paths{0, 0, 0, 0};
  if (!(inside.end > inside.begin)) return paths;
  const Point3 o = ToCells(cells, origin + inside.begin * direction);
  const Point3 d = ToCells(cells, cells.low + direction);
  const float end = static_cast<float>(inside.end - inside.begin);
  int offset = cells.strides[0] + cells.strides[1] + cells.strides[2];
  const auto axis = [&](double origin_cells, double slope, int a) {
    return WalkAxis(static_cast<float>(origin_cells), static_cast<float>(slope), cells.counts[a],
                    cells.strides[a], offset);
  };
  WalkAxis x = axis(o.x, d.x, 0), y = axis(o.y, d.y, 1), z = axis(o.z, d.z, 2);
  float position = 0;
  while (true) {
    const float next = fminf(fminf(x.border, y.border), fminf(z.border, end));
    const float4 part = (next - position) * __ldg(cells.amounts + offset);
    paths = {paths.x + part.x, paths.y + part.y, paths.z + part.z, paths.w + part.w};
    if (end <= next) return paths;
    position = next;
    offset += x.Cross(next) + y.Cross(next) + z.Cross(next);
  }
}

}  // namespace isocenter::cuda
