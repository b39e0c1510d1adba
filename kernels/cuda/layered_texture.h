// Projections as a layered texture: bilinear samples by the texture unit, zero outside.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/base/views.h"

namespace isocenter::cuda {

/// Float32 views in a layered array of their own. Grows as needed; move-less.
class LayeredTexture {
 public:
  LayeredTexture() = default;
  LayeredTexture(const LayeredTexture&) = delete;
  LayeredTexture& operator=(const LayeredTexture&) = delete;
  ~LayeredTexture() { Free(); }

  /// Copies `views` views of rows x columns from device memory, [view][v][u], on `stream`.
  /// Errors: RESOURCE_EXHAUSTED (device memory).
  absl::Status Fill(const float* from, int views, int rows, int columns, cudaStream_t stream);
  /// Pixel (u, v) of layer i is at (u + 0.5, v + 0.5).
  cudaTextureObject_t texture() const { return texture_; }

 private:
  absl::Status Reserve(int views, int rows, int columns, cudaStream_t stream);
  void Free();

  int views_ = 0, rows_ = 0, columns_ = 0;
  cudaArray_t array_ = nullptr;
  cudaTextureObject_t texture_ = 0;
};

}  // namespace isocenter::cuda
