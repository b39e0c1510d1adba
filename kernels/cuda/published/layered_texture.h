// Projections as a layered texture: bilinear samples by the texture unit, zero outside.
#pragma once

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "kernels/cuda/device/layered_array.h"

namespace isocenter::cuda {

/// Float32 views in a layered array of their own. Grows as needed; move-less.
class LayeredTexture {
 public:
  /// Copies `views` views of rows x columns from device memory, [view][v][u], on the stream of
  /// `session`.
  /// Errors: RESOURCE_EXHAUSTED (device memory).
  absl::Status Fill(const float* from, int views, int rows, int columns,
                    const CudaSession& session);
  /// Device memory that it takes.
  static int64_t Bytes(int64_t views, int64_t rows, int64_t columns) {
    return views * rows * columns * static_cast<int64_t>(sizeof(float));
  }
  /// Pixel (u, v) of layer i is at (u + 0.5, v + 0.5).
  cudaTextureObject_t texture() const { return array_.texture(); }

 private:
  LayeredArray array_{LayeredArray::Writing::kByCopies};
};

}  // namespace isocenter::cuda
