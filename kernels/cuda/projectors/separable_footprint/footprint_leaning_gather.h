// The adjoint of the separable footprint where columns of voxels along z lean against the
// detector's.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/base/views.h"
#include "kernels/cuda/projectors/separable_footprint/separable_footprint.cuh"

namespace isocenter::cuda {

/// Whether LaunchFootprintLeaningGather serves a view: its axial axis is z, which v follows all
/// over the detector, and no voxel covers more than four rows or seven columns of pixels.
/// `centered` as for FootprintViewOf.
bool LeaningGatherServes(const ProjectionMatrix& centered, int axial, const VolumeGrid& grid,
                         const Shape3& stack);

/// Floats of device memory that it needs besides, for `count` views.
int64_t LeaningGatherSize(const Shape3& stack, int64_t count);

/// volume += Aᵀ y for the first `count` views, all of which this serves. projections [view][v][u],
/// volume [z][y][x] and `turned`, LeaningGatherSize floats that it overwrites, on the device.
/// Asynchronous on `stream`.
absl::Status LaunchFootprintLeaningGather(const FootprintViews<float>& views, int count,
                                          const float* projections, const VolumeGrid& grid,
                                          const Shape3& stack, float* turned, float* volume,
                                          cudaStream_t stream);

}  // namespace isocenter::cuda
