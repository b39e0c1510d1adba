#include "kernels/cuda/published/layered_texture.h"

#include "kernels/cuda/device/status.h"

namespace isocenter::cuda {

absl::Status LayeredTexture::Fill(const float* from, int views, int rows, int columns,
                                  cudaStream_t stream) {
  const cudaExtent extent{static_cast<size_t>(columns), static_cast<size_t>(rows),
                          static_cast<size_t>(views)};
  const auto format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  ISO_RETURN_IF_ERROR(array_.Reserve(format, extent, stream));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = cudaPitchedPtr{const_cast<float*>(from), columns * sizeof(float), extent.width,
                               extent.height};
  copy.dstArray = array_.array();
  copy.extent = extent;
  copy.kind = cudaMemcpyDeviceToDevice;
  return ToStatus(cudaMemcpy3DAsync(&copy, stream), "cudaMemcpy3DAsync");
}

}  // namespace isocenter::cuda
