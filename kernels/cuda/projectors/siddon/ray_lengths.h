// Projections times the length in mm of each pixel's ray, per unit of w or from plane to plane.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "kernels/base/views.h"
#include "kernels/cuda/projectors/rays.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cuda {

inline constexpr int kMostScaledViews = 32;

/// How scaled projections lie in memory, [view][v][u].
struct ScaledLayout {
  int pitch = 0;  // from row to row; not less than the detector's columns
  int rows = 0;   // of a view; those behind the detector's are zeros
  /// Over how many voxels the ray goes along x or y, whichever is more: its length from one plane
  /// of voxels to the next.
  bool by_plane = false;
  bool flipped = false;  // the detector's last row is the first one
  friend bool operator==(const ScaledLayout&, const ScaledLayout&) = default;
  /// Floats of one view.
  int64_t view_size() const { return int64_t{pitch} * rows; }
};

/// That of the projections themselves.
ScaledLayout PlainLayout(const Shape3& stack);

/// to[view][v][u] = from[view][v][u] · |M⁻¹ (u, v, 1)|, for at most kMostScaledViews views; `rays`
/// in voxel indices of a grid of this spacing; `stack` {-, rows, columns}; `to` as `layout` says.
/// Asynchronous on `stream`.
absl::Status ScaleByRayLength(std::span<const Rays> rays, Vec3 spacing, const Shape3& stack,
                              const float* from, float* to, const ScaledLayout& layout,
                              cudaStream_t stream);

}  // namespace isocenter::cuda
