// The adjoint of Siddon's projection where detector columns run along z, upright or leaning.
#pragma once

#include <cuda_runtime_api.h>

#include <span>

#include "absl/status/status.h"
#include "kernels/base/views.h"
#include "kernels/cuda/projectors/siddon/ray_lengths.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cuda {

/// How the kernel below serves a view: not at all, or with at most one, or two, voxels between what
/// neighbouring rows see.
enum class Walk { kNone, kFineRows, kCoarseRows };

/// It does where columns follow z, rays climb less from one voxel to the next than from one row to
/// the next and both together less than two voxels, and columns lean no further than its series of
/// second order reaches. `centered` as in rays.h.
Walk WalkOf(const ProjectionMatrix& centered, const VolumeGrid& grid, const Shape3& stack);

/// Whether v grows against z.
bool RowsFall(const ProjectionMatrix& centered);

/// How the kernel below takes projections: by plane, rows in the direction of z, for which they are
/// `flipped` where RowsFall, and rows of zeros behind them.
ScaledLayout WalkedLayout(const Shape3& stack, bool flipped);

/// volume += Aᵀ y for at most 32 views, of which WalkOf is `walk`, not kNone, and
/// WalkedLayout `layout`. `scaled` are their projections, from ScaleByRayLength with it; volume
/// [z][y][x]; both on the device. Asynchronous on `stream`.
absl::Status LaunchSiddonWalk(Walk walk, std::span<const ProjectionMatrix> centered,
                              const float* scaled, const ScaledLayout& layout,
                              const VolumeGrid& grid, const Shape3& stack, float* volume,
                              cudaStream_t stream);

}  // namespace isocenter::cuda
