#include "kernels/cuda/device/layered_array.h"

#include "kernels/cuda/device/status.h"

namespace isocenter::cuda {

absl::Status LayeredArray::Allocate(const cudaChannelFormatDesc& format, const cudaExtent& extent,
                                    cudaStream_t stream) {
  if (array_ != nullptr) ISO_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream));
  Free();
  const absl::Status made = Make(format, extent);
  if (!made.ok()) Free();
  return made;
}

absl::Status LayeredArray::Reserve(const cudaChannelFormatDesc& format, const cudaExtent& extent,
                                   cudaStream_t stream) {
  if (extent.width == extent_.width && extent.height == extent_.height &&
      extent.depth <= extent_.depth) {
    return absl::OkStatus();
  }
  return Allocate(format, extent, stream);
}

absl::Status LayeredArray::Make(const cudaChannelFormatDesc& format, const cudaExtent& extent) {
  const bool kernels_write = writing_ == Writing::kByKernels;
  ISO_RETURN_IF_CUDA_ERROR(cudaMalloc3DArray(
      &array_, &format, extent,
      kernels_write ? cudaArrayLayered | cudaArraySurfaceLoadStore : cudaArrayLayered));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array_;
  cudaTextureDesc sampling = {};
  for (auto& mode : sampling.addressMode) mode = cudaAddressModeBorder;
  sampling.filterMode = cudaFilterModeLinear;
  sampling.readMode = cudaReadModeElementType;
  ISO_RETURN_IF_CUDA_ERROR(cudaCreateTextureObject(&texture_, &resource, &sampling, nullptr));
  if (kernels_write) ISO_RETURN_IF_CUDA_ERROR(cudaCreateSurfaceObject(&surface_, &resource));
  extent_ = extent;
  return absl::OkStatus();
}

void LayeredArray::Free() {
  if (surface_ != 0) cudaDestroySurfaceObject(surface_);
  if (texture_ != 0) cudaDestroyTextureObject(texture_);
  if (array_ != nullptr) cudaFreeArray(array_);
  surface_ = 0;
  texture_ = 0;
  array_ = nullptr;
  extent_ = {};
}

}  // namespace isocenter::cuda
