// Projections where the tensor memory accelerator can copy tiles from.
#pragma once

#include "kernels/cuda/fdk/backproject_common.cuh"
#include "kernels/cuda/fdk/tile_maps.h"

namespace isocenter::cuda {

/// Views as tiles can be copied from: as they are, or with rows padded to whole 16 bytes.
class TileSource {
 public:
  /// `projections` and what this returns are read on `stream` until the next call.
  /// Errors: RESOURCE_EXHAUSTED (device memory).
  absl::StatusOr<TiledViews> Prepare(const float* projections, int views, const Extent& e,
                                     cudaStream_t stream) {
    TiledViews tiled{projections, views, e.rows, e.columns, TilePitch(e.columns)};
    if (tiled.pitch == e.columns) return tiled;
    ISO_RETURN_IF_ERROR(padded_.Reserve(int64_t{views} * e.rows * tiled.pitch));
    tiled.data = padded_.data();
    ISO_RETURN_IF_CUDA_ERROR(
        cudaMemcpy2DAsync(padded_.data(), tiled.pitch * sizeof(float), projections,
                          e.columns * sizeof(float), e.columns * sizeof(float),
                          static_cast<size_t>(views) * e.rows, cudaMemcpyDeviceToDevice, stream));
    return tiled;
  }
  /// Device memory that Prepare takes.
  static int64_t Bytes(int64_t views, int64_t rows, int64_t columns) {
    return views * rows * TilePitch(columns) * static_cast<int64_t>(sizeof(float));
  }

 private:
  DeviceBuffer<float> padded_;
};

}  // namespace isocenter::cuda
