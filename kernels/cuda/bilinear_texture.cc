#include "kernels/cuda/bilinear_texture.h"

#include "kernels/cuda/status.h"

namespace isocenter::cuda {

absl::StatusOr<cudaTextureObject_t> NewBilinearTexture(cudaArray_t array) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc sampling = {};
  for (auto& mode : sampling.addressMode) mode = cudaAddressModeBorder;
  sampling.filterMode = cudaFilterModeLinear;
  sampling.readMode = cudaReadModeElementType;
  cudaTextureObject_t texture = 0;
  ISO_RETURN_IF_CUDA_ERROR(cudaCreateTextureObject(&texture, &resource, &sampling, nullptr));
  return texture;
}

}  // namespace isocenter::cuda
