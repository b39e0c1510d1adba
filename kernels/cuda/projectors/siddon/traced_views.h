// Views as kernels that follow rays have them. No CUDA in it.
#pragma once

#include "kernels/cuda/projectors/rays.h"

namespace isocenter::cuda {

inline constexpr int kMostTracedViews = 32;  // of a launch

/// Rays of one view: pixel (u, v) sees p + t·d, both affine in the pixel's distance from the
/// detector's middle and relative to the grid's, in voxels. float32 holds p best where it lies
/// within the grid.
template <class Real>
struct TracedView {
  double p[3], p_column[3], p_row[3];
  Real d[3], d_column[3], d_row[3];
  Real first;       // t of the source
  bool along_rows;  // v changes more than u along z
};

/// `centered` (rays.h) is the view's matrix; points are given at depth w = `depth`.
template <class Real>
TracedView<Real> TracedViewOf(const ProjectionMatrix& centered, double depth) {
  const Rays rays = RaysOf(centered);
  TracedView<Real> view;
  Assign(rays.source + depth * rays.base, view.p);
  Assign(depth * rays.per_column, view.p_column);
  Assign(depth * rays.per_row, view.p_row);
  Assign(rays.base, view.d);
  Assign(rays.per_column, view.d_column);
  Assign(rays.per_row, view.d_row);
  view.first = static_cast<Real>(-depth);
  view.along_rows = ZFollowsRows(centered);
  return view;
}

template <class Real>
struct TracedViews {
  static constexpr int kMost = sizeof(Real) == sizeof(float) ? kMostTracedViews : 1;
  TracedView<Real> view[kMost];
};

}  // namespace isocenter::cuda
