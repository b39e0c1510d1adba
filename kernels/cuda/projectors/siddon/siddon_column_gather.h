// The adjoint of Siddon's projection where the rays of a detector column share their crossings.
#pragma once

#include <cuda_runtime_api.h>

#include <span>

#include "absl/status/status.h"
#include "kernels/base/views.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cuda {

/// Whether the kernel below serves the view: ColumnsShareCrossings (rays.h), and the rays of a row
/// climb alike. `centered` as there.
bool ColumnsGather(const ProjectionMatrix& centered, const VolumeGrid& grid, const Shape3& stack);

/// volume += Aᵀ y for at most 32 views, of which ColumnsGather is true. `scaled` [view][v][u] are
/// projections times the rays' lengths (ray_lengths.h); volume [z][y][x]; both on the device.
/// Asynchronous on `stream`.
absl::Status LaunchSiddonColumnGather(std::span<const ProjectionMatrix> centered,
                                      const float* scaled, const VolumeGrid& grid,
                                      const Shape3& stack, float* volume, cudaStream_t stream);

}  // namespace isocenter::cuda
