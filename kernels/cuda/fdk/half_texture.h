// Projections as a layered texture: bilinear samples by the texture unit, zero outside.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/base/views.h"
#include "kernels/cuda/device/layered_array.h"
#include "kernels/geometry/detector_rows.h"

namespace isocenter::cuda {

/// Views as float16, times kHalfScale (half_pixels.h), in a layered array of their own; move-less.
/// The Fill functions copy `views` views of rows x columns from float32 in device memory,
/// [view][v][u], on `stream`: what samples at `seen` rows need, to the border and beyond where that
/// ends there; the rest of the texture is undefined. `capacity` is the largest shape that will
/// come, {views, rows, columns}; where it is always the same, memory is taken once. Errors:
/// RESOURCE_EXHAUSTED (device memory).
class HalfTexture {
 public:
  /// One channel. Pixel (u, v) of layer i is at (u + 0.5, v + 0.5).
  absl::Status FillPixels(const float* from, int views, int rows, RowRange seen,
                          const Shape3& capacity, cudaStream_t stream);
  /// Four channels: texel (u, j) holds rows j - kRowsAbove to j - kRowsAbove + 3 of column u, zero
  /// where there is no such row, and is at (u + 0.5, j + 0.5); rows + kRowsAbove rows of texels.
  /// Where bit i of `flipped` is set, view i is stored with its last row first; `seen` are rows as
  /// they are stored.
  absl::Status FillRows(const float* from, int views, int rows, RowRange seen,
                        const Shape3& capacity, uint32_t flipped, cudaStream_t stream);
  static constexpr int kRowsAbove = 4;

  cudaTextureObject_t texture() const { return array_.texture(); }

  /// Device memory that the two take.
  static int64_t PixelsBytes(int64_t views, int64_t rows, int64_t columns) {
    return views * rows * columns * 2;
  }
  static int64_t RowsBytes(int64_t views, int64_t rows, int64_t columns) {
    return views * (rows + kRowsAbove) * columns * 8;
  }

 private:
  absl::Status Reserve(int channels, const Shape3& array, cudaStream_t stream);
  int array_rows() const { return static_cast<int>(array_.extent().height); }

  int channels_ = 0;
  LayeredArray array_{LayeredArray::Writing::kByKernels};
};

}  // namespace isocenter::cuda
