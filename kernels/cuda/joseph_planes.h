// Copies of a volume's planes across one axis, laid out for rays that cross them one by one.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/cuda/joseph_view.h"
#include "kernels/cuda/owners.h"

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
  /// On `stream`. Errors: RESOURCE_EXHAUSTED (device memory).
  absl::Status Fill(const PlaneSource& source, cudaStream_t stream);
  const float* data() const { return data_.data(); }
  int pitch() const { return pitch_; }
  int rows() const { return rows_; }
  static int64_t Bytes(int64_t n_b, int64_t n_c, int64_t planes) {
    return (n_b + 3) * (n_c + 3) * planes * int64_t{sizeof(float)};
  }

 private:
  DeviceBuffer<float> data_;
  int pitch_ = 0, rows_ = 0;
};

/// A layered texture, zero outside; layer k is plane k of the run. Grows as needed; move-less.
class PlaneTexture {
 public:
  enum class Texel {
    kFloat,     // (b, c) is at (b + 0.5, c + 0.5)
    kHalfRows,  // texel (b, j) holds rows kStep·j - kRowsBefore and the next three, times
                // kHalfScale
  };
  static constexpr int kRowsBefore = 4;

  PlaneTexture() = default;
  PlaneTexture(const PlaneTexture&) = delete;
  PlaneTexture& operator=(const PlaneTexture&) = delete;
  ~PlaneTexture() { Free(); }

  /// On `stream`. `step`: rows from texel to texel of kHalfRows, 1 or 2. Errors: RESOURCE_EXHAUSTED
  /// (device memory).
  absl::Status Fill(const PlaneSource& source, Texel texel, int step, cudaStream_t stream);
  cudaTextureObject_t texture() const { return texture_; }
  void Free();

 private:
  absl::Status Reserve(Texel texel, cudaExtent extent, cudaStream_t stream);

  Texel texel_ = Texel::kFloat;
  cudaExtent extent_ = {};
  cudaArray_t array_ = nullptr;
  cudaTextureObject_t texture_ = 0;
  cudaSurfaceObject_t surface_ = 0;
};

}  // namespace isocenter::cuda
