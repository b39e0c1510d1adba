// What the forward projections of separable footprints know of a view.
#pragma once

#include "kernels/cuda/projectors/separable_footprint/separable_footprint.cuh"
#include "kernels/ops/projector.h"

namespace isocenter::cuda {

/// A view, and where its rays are. Voxels are counted from the grid's middle, pixels from the
/// detector's.
template <class Real>
struct ProjectedView {
  FootprintView<Real> footprint;
  Real source[3], direction[3], per_column[3], per_row[3];  // of rays, in voxels
  Real half_depth;   // of a voxel: what w changes from its centre to a corner, at most
  Real least_depth;  // voxels at less than this are looked for in whole planes
  int axial;
  bool upright;  // u and w are the same all along the axial axis
};
template <class Real>
struct ProjectedViews {
  static constexpr int kMost = sizeof(Real) == sizeof(float) ? 16 : 1;
  ProjectedView<Real> view[kMost];
};

template <class Real>
ProjectedView<Real> ProjectedViewOf(const ProjectionMatrix& world, const VolumeGrid& grid,
                                    const Shape3& stack) {
  const ProjectionMatrix centered = Centered(ToVoxelIndices(world, grid), grid, stack);
  const Rays rays = RaysOf(centered);
  ProjectedView<Real> view;
  view.axial = ops::AxialAxis(world, grid);
  view.footprint = FootprintViewOf<Real>(centered, view.axial, grid);
  Assign(rays.source, view.source);
  Assign(rays.base, view.direction);
  Assign(rays.per_column, view.per_column);
  Assign(rays.per_row, view.per_row);
  view.half_depth = static_cast<Real>(HalfDepthOfVoxel(centered));
  view.least_depth = static_cast<Real>(kLeastDepth);
  view.upright = IsUpright(centered, view.axial, grid, stack);
  return view;
}

/// The voxels of a volume and where they lie in memory, by axes of the grid.
struct VoxelLayout {
  int n[3];
  int64_t stride[3];
};

template <class T>
__device__ T Pick(const T (&of)[3], int axis) {
  return axis == 0 ? of[0] : axis == 1 ? of[1] : of[2];
}

/// Voxels along one axis, counted from the grid's first.
struct Span {
  int first, last;
};
template <class Real>
__device__ Span SpanAround(Real centre, Real half, int n) {
  const Real middle = static_cast<Real>(0.5) * (n - 1);
  const Real low = fmax(ceil(centre - half + middle), Real{0});
  const Real high = fmin(floor(centre + half + middle), static_cast<Real>(n - 1));
  return low <= high ? Span{static_cast<int>(low), static_cast<int>(high)} : Span{0, -1};
}

}  // namespace isocenter::cuda
