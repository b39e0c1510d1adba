#include "kernels/cuda/projectors/joseph/joseph_view.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cuda/projectors/joseph/joseph_adjoint_view.h"

namespace isocenter::cuda {
namespace {

struct Affine {
  double at0, du, dv;
  Affine operator*(double s) const { return {s * at0, s * du, s * dv}; }
  Affine operator+(const Affine& o) const { return {at0 + o.at0, du + o.du, dv + o.dv}; }
};

AffineInPixels InFloat(const Affine& a) {
  return {static_cast<float>(a.at0), static_cast<float>(a.du), static_cast<float>(a.dv)};
}

// To int, where the number may be far outside.
int Clamped(double value) { return static_cast<int>(std::clamp(value, -1e9, 1e9)); }

// The rays of a view, in voxel indices.
struct Rays {
  Affine d[3];  // divided by `scale`, the largest of the middle pixel
  double source[3];
  double scale;
};

double MiddleOf(int64_t pixels) { return 0.5 * static_cast<double>(pixels - 1); }

Rays RaysOf(const ProjectionMatrix& indexed, Shape3 stack) {
  const std::array<double, 9> inverse = InverseLeft(indexed);
  const double u = MiddleOf(stack.fast), v = MiddleOf(stack.middle);
  Rays rays{};
  for (int i = 0; i < 3; ++i) {
    const double* const row = &inverse[3 * i];
    rays.d[i] = {row[0] * u + row[1] * v + row[2], row[0], row[1]};
    rays.source[i] = -(row[0] * indexed(0, 3) + row[1] * indexed(1, 3) + row[2] * indexed(2, 3));
    rays.scale = std::max(rays.scale, std::abs(rays.d[i].at0));
  }
  for (Affine& along : rays.d) along = along * (1 / rays.scale);
  return rays;
}

JosephView ViewOf(const Rays& rays, const PlaneAxes& axes, const VolumeGrid& grid) {
  const auto& [d, source, scale] = rays;
  const int n[] = {grid.nx, grid.ny, grid.nz};
  const auto middle = [&n](int axis) { return 0.5 * (n[axis] - 1); };
  // s + d (middle - s_major) / d_major, times d_major.
  const double ahead = middle(axes.major) - source[axes.major];
  const auto crossing = [&](int axis) {
    return d[axes.major] * (source[axis] - middle(axis)) + d[axis] * ahead;
  };
  JosephView view{.d_major = InFloat(d[axes.major]),
                  .d_b = InFloat(d[axes.b]),
                  .d_c = InFloat(d[axes.c]),
                  .cross_b = InFloat(crossing(axes.b)),
                  .cross_c = InFloat(crossing(axes.c)),
                  .first = Clamped(std::floor(source[axes.major]) + 1),
                  .last = Clamped(std::ceil(source[axes.major]) - 1),
                  .d = {}};
  for (int i = 0; i < 3; ++i) {
    view.d[3 * i] = d[i].at0;
    view.d[3 * i + 1] = d[i].du;
    view.d[3 * i + 2] = d[i].dv;
  }
  return view;
}

}  // namespace

JosephExtent MakeJosephExtent(const PlaneAxes& axes, const VolumeGrid& grid, Shape3 stack) {
  const int n[] = {grid.nx, grid.ny, grid.nz};
  const double spacing[] = {grid.spacing.x, grid.spacing.y, grid.spacing.z};
  return {n[axes.major],
          n[axes.b],
          n[axes.c],
          static_cast<int>(stack.fast),
          static_cast<int>(stack.middle),
          static_cast<float>(spacing[axes.major]),
          static_cast<float>(spacing[axes.b]),
          static_cast<float>(spacing[axes.c])};
}

JosephView MakeJosephView(const ProjectionMatrix& world, const PlaneAxes& axes,
                          const VolumeGrid& grid, Shape3 stack) {
  return ViewOf(RaysOf(ToVoxelIndices(world, grid), stack), axes, grid);
}

JosephAdjointView MakeJosephAdjointView(const ProjectionMatrix& world, const PlaneAxes& axes,
                                        const VolumeGrid& grid, Shape3 stack) {
  const ProjectionMatrix indexed = ToVoxelIndices(world, grid);
  const Rays rays = RaysOf(indexed, stack);
  JosephAdjointView view{};
  view.rays = ViewOf(rays, axes, grid);
  const double middle[] = {MiddleOf(stack.fast), MiddleOf(stack.middle), 0};
  for (int row = 0; row < 3; ++row) {
    for (int c = 0; c < 4; ++c) {
      const double relative =
          row < 2 ? indexed(row, c) - middle[row] * indexed(2, c) : indexed(2, c);
      view.exact_m[4 * row + c] = rays.scale * relative;
      view.m[4 * row + c] = static_cast<float>(view.exact_m[4 * row + c]);
    }
    view.exact_source[row] = rays.source[row];
    view.source[row] = static_cast<float>(rays.source[row]);
  }
  return view;
}

RaySteps StepsAlongColumn(const ProjectionMatrix& world, const PlaneAxes& axes,
                          const VolumeGrid& grid, Shape3 stack) {
  const ProjectionMatrix indexed = ToVoxelIndices(world, grid);
  const Rays rays = RaysOf(indexed, stack);
  const int last[] = {grid.nx - 1, grid.ny - 1, grid.nz - 1};
  RaySteps most{0, 0};
  for (int corner = 0; corner < 8; ++corner) {
    double ahead[3], w = indexed(2, 3), longest = 0;  // from the source to the corner
    for (int axis = 0; axis < 3; ++axis) {
      const double at = (corner >> axis) & 1 ? last[axis] : 0;
      w += indexed(2, axis) * at;
      ahead[axis] = at - rays.source[axis];
      longest = std::max(longest, std::abs(ahead[axis]));
    }
    // Rays there have another major axis, or there are none.
    if (!(w > 0) || std::abs(ahead[axes.major]) < 0.9 * longest) continue;
    const auto step = [&](int axis) {
      return w * rays.scale *
             std::abs(rays.d[axis].dv - ahead[axis] / ahead[axes.major] * rays.d[axes.major].dv);
    };
    most = {std::max(most.b, step(axes.b)), std::max(most.c, step(axes.c))};
  }
  return most;
}

bool MayBeMajor(const JosephView& view, int axis, Shape3 stack) {
  const double half_u = 0.5 * static_cast<double>(stack.fast - 1);
  const double half_v = 0.5 * static_cast<double>(stack.middle - 1);
  double least[3], most[3];  // of the magnitude, over the detector
  for (int i = 0; i < 3; ++i) {
    const double at0 = std::abs(view.d[3 * i]);
    const double change =
        std::abs(view.d[3 * i + 1]) * half_u + std::abs(view.d[3 * i + 2]) * half_v;
    least[i] = std::max(0., at0 - change);
    most[i] = at0 + change;
  }
  constexpr double kMargin = 1 + 1e-9;
  for (int i = 0; i < 3; ++i) {
    if (i != axis && most[axis] * kMargin < least[i]) return false;
  }
  return true;
}

}  // namespace isocenter::cuda
