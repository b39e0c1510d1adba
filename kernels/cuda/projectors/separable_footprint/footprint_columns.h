// Separable footprints, forward, where a column of voxels along z has one trapezoid.
#pragma once

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "kernels/base/views.h"
#include "kernels/cuda/projectors/separable_footprint/projected_view.cuh"
#include "kernels/geometry/detector_rows.h"

namespace isocenter::cuda {

/// projections += A x for the first `count` views, which are upright with z as their axial axis.
/// volume [y][x][z], projections [view][v][u], both on the device. Only rays of the rows `seen`
/// cross the volume. Asynchronous on `stream`.
absl::Status LaunchFootprintColumns(const ProjectedViews<float>& views, int count,
                                    const float* volume, const VolumeGrid& grid,
                                    const Shape3& stack, RowRange seen, float* projections,
                                    cudaStream_t stream);

}  // namespace isocenter::cuda
