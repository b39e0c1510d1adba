// Projections as a layered texture: bilinear samples by the texture unit, zero outside.
#pragma once

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "kernels/cuda/device/layered_array.h"

namespace isocenter::cuda {

/// Float32 views in a layered array of their own. Grows as needed; move-less.
class LayeredTexture {
 public:
  /// Copies `views` views of rows x columns from device memory, [view][v][u], on `stream`.
  /// Errors: RESOURCE_EXHAUSTED (device memory).
  absl::Status Fill(const float* from, int views, int rows, int columns, cudaStream_t stream);
  /// Pixel (u, v) of layer i is at (u + 0.5, v + 0.5).
  cudaTextureObject_t texture() const { return array_.texture(); }

 private:
  LayeredArray array_{LayeredArray::Writing::kByCopies};
};

}  // namespace isocenter::cuda
