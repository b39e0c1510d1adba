// Projections as a layered texture: bilinear samples by the texture unit, zero outside.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"

namespace isocenter::cuda {

/// Views as float16, times kHalfScale (half_pixels.h), in a layered array of their own. Grows as
/// needed; move-less. All Fill functions copy from float32 in device memory, [view][v][u], on
/// `stream`. Errors: RESOURCE_EXHAUSTED (device memory).
class LayeredTexture {
 public:
  LayeredTexture() = default;
  LayeredTexture(const LayeredTexture&) = delete;
  LayeredTexture& operator=(const LayeredTexture&) = delete;
  ~LayeredTexture() { Free(); }

  /// One channel. Pixel (u, v) of layer i is at (u + 0.5, v + 0.5).
  absl::Status FillPixels(const float* from, int views, int rows, int columns, cudaStream_t stream);
  /// Four channels: texel (u, j) holds rows j - kRowsAbove to j - kRowsAbove + 3 of column u, zero
  /// where there is no such row, and is at (u + 0.5, j + 0.5); rows + kRowsAbove rows of texels.
  /// Where bit i of `flipped` is set, view i is stored with its last row first.
  absl::Status FillRows(const float* from, int views, int rows, int columns, uint32_t flipped,
                        cudaStream_t stream);
  static constexpr int kRowsAbove = 4;

  cudaTextureObject_t texture() const { return texture_; }

  /// Device memory that the two take.
  static int64_t PixelsBytes(int64_t views, int64_t rows, int64_t columns) {
    return views * rows * columns * 2;
  }
  static int64_t RowsBytes(int64_t views, int64_t rows, int64_t columns) {
    return views * (rows + kRowsAbove) * columns * 8;
  }

 private:
  absl::Status Reserve(int channels, int views, int rows, int columns);
  void Free();

  int channels_ = 0, views_ = 0, rows_ = 0, columns_ = 0;
  cudaArray_t array_ = nullptr;
  cudaTextureObject_t texture_ = 0;
  cudaSurfaceObject_t surface_ = 0;
};

}  // namespace isocenter::cuda
