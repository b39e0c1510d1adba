// A view as Joseph's projector sees it: where the rays of its pixels cross the planes of voxel
// centres. Computed on the host in float64; kernels get float32 that lose nothing by cancellation.
#pragma once

#include <vector>

#include "kernels/base/views.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cuda {

inline constexpr int kJosephViews = 32;  // of one launch, at most

/// at0 + du·(u - middle column) + dv·(v - middle row).
struct AffineInPixels {
  float at0, du, dv;
};

/// The axes of the grid as the planes across `major` are seen: b is the one of the other two along
/// which the volume is nearer to contiguous.
struct PlaneAxes {
  int major, b, c;
};
inline constexpr PlaneAxes kPlaneAxes[] = {{0, 1, 2}, {1, 0, 2}, {2, 0, 1}};

/// One view and the planes across one axis. Lengths in voxels of the grid.
struct JosephView {
  /// The direction d of a pixel's ray, scaled by a positive number of the view: along the major
  /// axis, b and c.
  AffineInPixels d_major, d_b, d_c;
  /// d_major times where the ray crosses the grid's middle plane, relative to the grid's middle.
  AffineInPixels cross_b, cross_c;
  /// Planes in front of the source: from `first` on for rays with d_major > 0, up to `last` for
  /// the others.
  int first, last;
  /// d in float64, along x, y and z, each at0, du, dv: for pixels next to where the axis changes.
  double d[9];
};

/// Views of one launch. By kernel parameter: jobs share nothing.
struct JosephViews {
  JosephView of[kJosephViews];
  int index[kJosephViews];  // which view of the stack
};

/// Grid and detector, as all kernels of the projector need them.
struct JosephExtent {
  int n_major, n_b, n_c;
  int columns, rows;
  float spacing_major, spacing_b, spacing_c;  // mm
};

JosephExtent MakeJosephExtent(const PlaneAxes& axes, const VolumeGrid& grid, Shape3 stack);

/// `world` is the view's matrix.
JosephView MakeJosephView(const ProjectionMatrix& world, const PlaneAxes& axes,
                          const VolumeGrid& grid, Shape3 stack);

/// How far, in voxels along b and c, the rays of neighbouring pixels of a detector column are apart
/// where they cross the volume: the most at its corners, in front of the source.
struct RaySteps {
  double b, c;
};
RaySteps StepsAlongColumn(const ProjectionMatrix& world, const PlaneAxes& axes,
                          const VolumeGrid& grid, Shape3 stack);

/// Whether the major axis of some ray may be `axis`; never false where it is, for any pixel of the
/// detector.
bool MayBeMajor(const JosephView& view, int axis, Shape3 stack);

}  // namespace isocenter::cuda
