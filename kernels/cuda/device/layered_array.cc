#include "kernels/cuda/device/layered_array.h"

#include "kernels/base/status_macros.h"

namespace isocenter::cuda {

absl::Status LayeredArray::Allocate(const cudaChannelFormatDesc& format, const cudaExtent& extent,
                                    const CudaSession& session) {
  if (array_ != nullptr) ISO_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(session.stream()));
  Free();
  const absl::Status made = Make(format, extent, session.memory());
  if (!made.ok()) Free();
  return made;
}

absl::Status LayeredArray::Reserve(const cudaChannelFormatDesc& format, const cudaExtent& extent,
                                   const CudaSession& session) {
  if (extent.width == extent_.width && extent.height == extent_.height &&
      extent.depth <= extent_.depth) {
    return absl::OkStatus();
  }
  return Allocate(format, extent, session);
}

absl::Status LayeredArray::Make(const cudaChannelFormatDesc& format, const cudaExtent& extent,
                                const Memory& memory) {
  const auto bits = static_cast<size_t>(format.x + format.y + format.z + format.w);
  const auto bytes = static_cast<int64_t>(extent.width * extent.height * extent.depth * (bits / 8));
  ISO_ASSIGN_OR_RETURN(reservation_, Reservation::Take(memory, bytes, "an operation's texture"));
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
  reservation_ = Reservation();
  extent_ = {};
}

}  // namespace isocenter::cuda
