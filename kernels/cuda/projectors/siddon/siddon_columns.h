// Siddon's forward projection where the rays of a detector column share their crossings.
#pragma once

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "kernels/base/views.h"
#include "kernels/cuda/projectors/siddon/traced_views.h"
#include "kernels/geometry/detector_rows.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cuda {

/// projections += A x for the first `count` views, of which ColumnsShareCrossings (rays.h) is true.
/// volume [y][x][z], projections [view][v][u], both on the device; `stack` {-, rows, columns}. Only
/// rays of the rows `seen` cross the volume. Asynchronous on `stream`.
absl::Status LaunchSiddonColumns(const TracedViews<float>& views, int count, const float* volume,
                                 const VolumeGrid& grid, const Shape3& stack, RowRange seen,
                                 float* projections, cudaStream_t stream);

}  // namespace isocenter::cuda
