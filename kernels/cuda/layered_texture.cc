#include "kernels/cuda/layered_texture.h"

#include "kernels/cuda/bilinear_texture.h"
#include "kernels/cuda/status.h"

namespace isocenter::cuda {
namespace {

cudaExtent ExtentOf(int views, int rows, int columns) {
  return {static_cast<size_t>(columns), static_cast<size_t>(rows), static_cast<size_t>(views)};
}

}  // namespace

absl::Status LayeredTexture::Fill(const float* from, int views, int rows, int columns,
                                  cudaStream_t stream) {
  ISO_RETURN_IF_ERROR(Reserve(views, rows, columns, stream));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = cudaPitchedPtr{const_cast<float*>(from), columns * sizeof(float),
                               static_cast<size_t>(columns), static_cast<size_t>(rows)};
  copy.dstArray = array_;
  copy.extent = ExtentOf(views, rows, columns);
  copy.kind = cudaMemcpyDeviceToDevice;
  return ToStatus(cudaMemcpy3DAsync(&copy, stream), "cudaMemcpy3DAsync");
}

absl::Status LayeredTexture::Reserve(int views, int rows, int columns, cudaStream_t stream) {
  if (views <= views_ && rows == rows_ && columns == columns_) return absl::OkStatus();
  // Kernels that are under way may still read the old one.
  if (array_ != nullptr) ISO_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream));
  Free();
  const cudaChannelFormatDesc format =
      cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  ISO_RETURN_IF_CUDA_ERROR(
      cudaMalloc3DArray(&array_, &format, ExtentOf(views, rows, columns), cudaArrayLayered));
  ISO_ASSIGN_OR_RETURN(texture_, NewBilinearTexture(array_));
  views_ = views;
  rows_ = rows;
  columns_ = columns;
  return absl::OkStatus();
}

void LayeredTexture::Free() {
  if (texture_ != 0) cudaDestroyTextureObject(texture_);
  if (array_ != nullptr) cudaFreeArray(array_);
  texture_ = 0;
  array_ = nullptr;
  views_ = 0;
}

}  // namespace isocenter::cuda
