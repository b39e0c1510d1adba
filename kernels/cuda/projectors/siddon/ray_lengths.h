// Projections times the length in mm of each pixel's ray, per unit of w or from plane to plane.
#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "kernels/base/views.h"
#include "kernels/cuda/projectors/rays.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cuda {

inline constexpr int kMostScaledViews = 32;

/// to[view][v][u] = from[view][v][u] · |M⁻¹ (u, v, 1)|, for at most kMostScaledViews views; `rays`
/// in voxel indices of a grid of this spacing; `stack` {-, rows, columns}. Where `by_plane` is true
/// of a view, over how many voxels the ray goes along x or y, whichever is more: its length from
/// one plane of voxels to the next; empty: nowhere. Asynchronous on `stream`.
absl::Status ScaleByRayLength(std::span<const Rays> rays, Vec3 spacing, const Shape3& stack,
                              const float* from, float* to, cudaStream_t stream,
                              const std::vector<bool>& by_plane = {});

}  // namespace isocenter::cuda
