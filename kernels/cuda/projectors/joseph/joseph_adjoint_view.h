// A view as the adjoint of Joseph's projector sees it: where a voxel's neighbourhood lies on the
// detector. Computed on the host in float64.
#pragma once

#include "kernels/cuda/projectors/joseph/joseph_view.h"

namespace isocenter::cuda {

inline constexpr int kAdjointViews = 16;  // of one launch, at most

/// One view and one major axis. (i, j, k) are voxel indices, pixels are relative to the middle of
/// the detector.
struct JosephAdjointView {
  JosephView rays;
  int index;  // which view of the stack
  /// (u·w, v·w, w) = m · (i, j, k, 1) with w scaled so that a voxel is at the source + w · d.
  float m[12];
  float source[3];  // voxel indices
  double exact_m[12], exact_source[3];
};

/// By kernel parameter.
struct JosephAdjointViews {
  JosephAdjointView of[kAdjointViews];
};

/// `world` is the view's matrix.
JosephAdjointView MakeJosephAdjointView(const ProjectionMatrix& world, const PlaneAxes& axes,
                                        const VolumeGrid& grid, Shape3 stack);

}  // namespace isocenter::cuda
