// Copies of a volume's planes across one axis, laid out for rays that cross them one by one.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/cuda/device/layered_array.h"
#include "kernels/cuda/device/session.h"
#include "kernels/cuda/projectors/joseph/joseph_view.h"

namespace isocenter::cuda {

/// A volume [z][y][x] in device memory and the run of its planes that is copied.
struct PlaneSource {
  const float* volume;
  int nx, ny, nz;
  PlaneAxes axes;
  int first, count;  // planes across axes.major
};

/// Float32 in linear memory, with borders of zeros: element (b, c) of plane k of the run is at
/// data()[(k · rows + c + 1) · pitch + b + 1], for b from -1 to n_b + 1, c likewise.
class LinearPlanes {
 public:
  /// On the stream of `session`. Errors: RESOURCE_EXHAUSTED (device memory).
  absl::Status Fill(const PlaneSource& source, const CudaSession& session);
  const float* data() const { return data_.data(); }
  int pitch() const { return pitch_; }
  int rows() const { return rows_; }
  /// Of one plane.
  static int64_t Bytes(int64_t n_b, int64_t n_c) {
    return (n_b + 3) * (n_c + 3) * int64_t{sizeof(float)};
  }

 private:
  DeviceBuffer<float> data_;
  int pitch_ = 0, rows_ = 0;
};

/// Float16, times kHalfScale (half_pixels.h), in a layered texture; layer k is plane k of the run.
/// Texel (b, j) holds rows step·j - kRowsBefore (along c) and the next three, zero outside of the
/// volume, and is at (b + 0.5, j + 0.5). Grows as needed; move-less.
class RowsTexture {
 public:
  static constexpr int kRowsBefore = 4;

  /// On the stream of `session`. `step`: 1 or 2. Errors: RESOURCE_EXHAUSTED (device memory).
  absl::Status Fill(const PlaneSource& source, int step, const CudaSession& session);
  cudaTextureObject_t texture() const { return array_.texture(); }
  /// Of one plane.
  static int64_t Bytes(int64_t n_b, int64_t n_c, int step) { return n_b * Rows(n_c, step) * 8; }

 private:
  static int64_t Rows(int64_t n_c, int step) { return (n_c + kRowsBefore + step - 1) / step; }
  LayeredArray array_{LayeredArray::Writing::kByKernels};
};

}  // namespace isocenter::cuda
