// Separable footprints, forward, where columns of voxels lean against the detector's.
#pragma once

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "kernels/base/views.h"
#include "kernels/cuda/projectors/separable_footprint/projected_view.cuh"
#include "kernels/geometry/detector_rows.h"

namespace isocenter::cuda {

/// How many rows of the detector a warp takes at once, so that the voxels which they see of one
/// column have room: 128, 64 or 32. 0: the kernel does not serve the view, as pixels are longer
/// than two voxels or rows meet where columns of voxels vanish.
int LeaningRows(const ProjectedView<float>& view, const VolumeGrid& grid, const Shape3& stack);

/// projections += A x for the first `count` views, whose LeaningRows is `warp_rows`, not 0. volume
/// as `layout` has it, projections [view][v][u], both on the device. Only rays of the rows `seen`
/// cross the volume. Asynchronous on `stream`.
absl::Status LaunchFootprintLeaning(const ProjectedViews<float>& views, int count, int warp_rows,
                                    const VoxelLayout& layout, const float* volume,
                                    const Shape3& stack, RowRange seen, float* projections,
                                    cudaStream_t stream);

}  // namespace isocenter::cuda
