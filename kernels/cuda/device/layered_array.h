// Device memory that is sampled by the texture unit.
#pragma once

#include <cuda_runtime_api.h>

#include "absl/status/status.h"

namespace isocenter::cuda {

/// Owner of a layered array, its texture and, where kernels write it, its surface; move-less.
class LayeredArray {
 public:
  /// Whether kernels write to it through surface().
  enum class Writing { kByCopies, kByKernels };

  explicit LayeredArray(Writing writing) : writing_(writing) {}
  LayeredArray(const LayeredArray&) = delete;
  LayeredArray& operator=(const LayeredArray&) = delete;
  ~LayeredArray() { Free(); }

  /// Takes memory for elements of `format`, depth layers of height x width, in place of what there
  /// was; waits for `stream`, whose kernels may still read that. Contents are undefined. Errors:
  /// RESOURCE_EXHAUSTED (device memory), and then it is empty.
  absl::Status Allocate(const cudaChannelFormatDesc& format, const cudaExtent& extent,
                        cudaStream_t stream);

  /// As Allocate, unless its layers are of that size and enough: beyond a layer's edges a texture
  /// is zero, so these must be exact, and layers may be left over. `format` is the same in all
  /// calls.
  absl::Status Reserve(const cudaChannelFormatDesc& format, const cudaExtent& extent,
                       cudaStream_t stream);

  /// All zero before Allocate.
  const cudaExtent& extent() const { return extent_; }
  cudaArray_t array() const { return array_; }
  /// Bilinear samples, zero outside; element (x, y) of a layer is at (x + 0.5, y + 0.5).
  cudaTextureObject_t texture() const { return texture_; }
  cudaSurfaceObject_t surface() const { return surface_; }

 private:
  absl::Status Make(const cudaChannelFormatDesc& format, const cudaExtent& extent);
  void Free();

  Writing writing_;
  cudaExtent extent_ = {};
  cudaArray_t array_ = nullptr;
  cudaTextureObject_t texture_ = 0;
  cudaSurfaceObject_t surface_ = 0;
};

}  // namespace isocenter::cuda
