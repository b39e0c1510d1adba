// The adjoint of the separable footprint where a column of voxels along z has one trapezoid.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/base/views.h"
#include "kernels/cuda/device/session.h"
#include "kernels/cuda/projectors/separable_footprint/separable_footprint.cuh"

namespace isocenter::cuda {

/// Gathers for whole columns of voxels: along a column the weights of detector columns are the
/// same, so they are found once, and a row of pixels is summed with them once, for all voxels that
/// see it. Memory grows to the largest batch of views that has come.
class FootprintColumnGather {
 public:
  /// Whether a view can be gathered this way: its axial axis is z, IsUpright is true of it, and no
  /// voxel covers more pixels than there is room for. `centered` as for FootprintViewOf.
  static bool Serves(const ProjectionMatrix& centered, int axial, const VolumeGrid& grid,
                     const Shape3& stack);

  /// volume += Aᵀ y for the first `count` views, all of which this serves. projections [view][v][u]
  /// and volume [z][y][x] on the device. Errors: RESOURCE_EXHAUSTED. Asynchronous on the stream of
  /// `session`.
  absl::Status Add(const FootprintViews<float>& views, int count, const float* projections,
                   const VolumeGrid& grid, const Shape3& stack, float* volume,
                   const CudaSession& session);

  /// Device memory for stacks of this shape.
  static int64_t Bytes(const Shape3& stack);

 private:
  DeviceBuffer<float> columns_;  // a batch of views, [view][u][v]
};

}  // namespace isocenter::cuda
