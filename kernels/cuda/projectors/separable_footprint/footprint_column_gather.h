// The adjoint of the separable footprint where a column of voxels along z has one trapezoid.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/base/views.h"
#include "kernels/cuda/projectors/separable_footprint/separable_footprint.cuh"

namespace isocenter::cuda {

/// Whether a view can be gathered for whole columns of voxels, along which the weights of detector
/// columns are the same, so that they are found once, and a row of pixels is summed with them once,
/// for all voxels that see it: its axial axis is z, IsUpright is true of it, and no voxel covers
/// more pixels than there is room for. `centered` as for FootprintViewOf.
bool ColumnGatherServes(const ProjectionMatrix& centered, int axial, const VolumeGrid& grid,
                        const Shape3& stack);

/// Floats of device memory that it needs besides, for `count` views.
int64_t ColumnGatherSize(const Shape3& stack, int64_t count);

/// volume += Aᵀ y for the first `count` views, all of which this serves. projections [view][v][u],
/// volume [z][y][x] and `turned`, ColumnGatherSize floats that it overwrites, on the device.
/// Asynchronous on `stream`.
absl::Status LaunchFootprintColumnGather(const FootprintViews<float>& views, int count,
                                         const float* projections, const VolumeGrid& grid,
                                         const Shape3& stack, float* turned, float* volume,
                                         cudaStream_t stream);

}  // namespace isocenter::cuda
