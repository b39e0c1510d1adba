// Projections turned for warps whose lanes are neighbours along v.
#pragma once

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cuda {

/// [view][u][v] in memory: `pitch` rows for each column of the detector, and `aside` columns of
/// zeros at either side.
struct TurnedLayout {
  int pitch;
  int aside;
};

/// The least pitch, a multiple of a warp's lanes, that leaves room for `beyond` rows of zeros.
int TurnedPitch(const Shape3& stack, int beyond);

/// Floats of one view.
int64_t TurnedSize(const Shape3& stack, const TurnedLayout& layout);

/// turned [view][u][v] from projections [view][v][u], both on the device, for the first `count`
/// views; rows beyond the detector's up to the pitch, and columns aside, are zeros. Asynchronous on
/// `stream`.
absl::Status TurnViews(const float* projections, int count, const Shape3& stack,
                       const TurnedLayout& layout, float* turned, cudaStream_t stream);

}  // namespace isocenter::cuda
