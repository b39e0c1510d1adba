// The adjoint of the separable footprint where a column of voxels along z has one trapezoid.
#pragma once

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "kernels/base/views.h"
#include "kernels/cuda/separable_footprint.cuh"

namespace isocenter::cuda {

/// volume += Aᵀ y for the first `count` views, whose axial axis is z and of which IsUpright is
/// true. projections [view][v][u] and volume [z][y][x] on the device; a detector of at least
/// kLeastGatherColumns columns. Asynchronous on `stream`.
inline constexpr int kLeastGatherColumns = 5;
absl::Status LaunchFootprintColumnGather(const FootprintViews<float>& views, int count,
                                         const float* projections, const VolumeGrid& grid,
                                         const Shape3& stack, float* volume, cudaStream_t stream);

}  // namespace isocenter::cuda
