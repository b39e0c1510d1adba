#include <cuda_fp16.h>

#include "kernels/cuda/device/half_pixels.h"
#include "kernels/cuda/device/status.h"
#include "kernels/cuda/fdk/half_texture.h"

namespace isocenter::cuda {
namespace {

constexpr int kFillThreads = 128;
constexpr int kRun = 8;  // rows of texels per thread; FillRows needs each row of pixels for four

// Both write texels of rows [begin, end), zeros where there are no pixels: earlier views may have
// had more rows.
__global__ void FillPixelsKernel(const float* from, int rows, int columns, int begin, int end,
                                 cudaSurfaceObject_t surface) {
  const int u = blockIdx.x * blockDim.x + threadIdx.x, view = blockIdx.z;
  const int first = begin + blockIdx.y * kRun;
  if (u >= columns) return;
  const float* const pixels = from + static_cast<int64_t>(view) * rows * columns + u;
#pragma unroll
  for (int v = first; v < first + kRun; ++v) {
    if (v >= end) break;
    const float value = v < rows ? kHalfScale * pixels[static_cast<int64_t>(v) * columns] : 0.f;
    const __half pixel = __float2half_rn(value);
    surf2DLayeredwrite(__half_as_ushort(pixel), surface, u * 2, v, view);
  }
}

__global__ void FillRowsKernel(const float* from, int rows, int columns, int begin, int end,
                               uint32_t flipped, cudaSurfaceObject_t surface) {
  constexpr int kAbove = HalfTexture::kRowsAbove;
  const int u = blockIdx.x * blockDim.x + threadIdx.x, view = blockIdx.z;
  const int first = begin + blockIdx.y * kRun;
  if (u >= columns) return;
  const float* const pixels = from + static_cast<int64_t>(view) * rows * columns + u;
  const bool flip = (flipped >> view) & 1;
  __half row[kRun + 3];
#pragma unroll
  for (int i = 0; i < kRun + 3; ++i) {
    const int v = first + i - kAbove;
    const bool exists = v >= 0 && v < rows;
    const int64_t at = static_cast<int64_t>(flip ? rows - 1 - v : v) * columns;
    row[i] = __float2half_rn(exists ? kHalfScale * pixels[at] : 0.f);
  }
#pragma unroll
  for (int i = 0; i < kRun; ++i) {
    if (first + i >= end) break;
    const auto pair = [&](int at) {
      return static_cast<unsigned>(__half_as_ushort(row[at])) |
             static_cast<unsigned>(__half_as_ushort(row[at + 1])) << 16;
    };
    surf2DLayeredwrite(make_uint2(pair(i), pair(i + 2)), surface, u * 8, first + i, view);
  }
}

unsigned BlocksAcross(int columns) { return (columns + kFillThreads - 1) / kFillThreads; }
unsigned RunsOf(int rows) { return (rows + kRun - 1) / kRun; }

}  // namespace

absl::Status HalfTexture::FillPixels(const float* from, int views, int rows, RowRange seen,
                                     const Shape3& capacity, cudaStream_t stream) {
  ISO_RETURN_IF_ERROR(Reserve(1, capacity, stream));
  const int columns = static_cast<int>(capacity.fast);
  const int begin = seen.first;
  const int end = seen.end() < rows ? seen.end() : array_rows();
  FillPixelsKernel<<<dim3(BlocksAcross(columns), RunsOf(end - begin), views), kFillThreads, 0,
                     stream>>>(from, rows, columns, begin, end, array_.surface());
  return ToStatus(cudaGetLastError(), "FillPixelsKernel");
}

absl::Status HalfTexture::FillRows(const float* from, int views, int rows, RowRange seen,
                                   const Shape3& capacity, uint32_t flipped, cudaStream_t stream) {
  ISO_RETURN_IF_ERROR(
      Reserve(4, {capacity.slow, capacity.middle + kRowsAbove, capacity.fast}, stream));
  const int columns = static_cast<int>(capacity.fast);
  const int begin = seen.first == 0 ? 0 : seen.first + kRowsAbove;
  const int end = seen.end() < rows ? seen.end() + kRowsAbove : array_rows();
  FillRowsKernel<<<dim3(BlocksAcross(columns), RunsOf(end - begin), views), kFillThreads, 0,
                   stream>>>(from, rows, columns, begin, end, flipped, array_.surface());
  return ToStatus(cudaGetLastError(), "FillRowsKernel");
}

absl::Status HalfTexture::Reserve(int channels, const Shape3& array, cudaStream_t stream) {
  const cudaExtent extent{static_cast<size_t>(array.fast), static_cast<size_t>(array.middle),
                          static_cast<size_t>(array.slow)};
  const cudaExtent& had = array_.extent();
  if (channels == channels_ && extent.depth <= had.depth && extent.height <= had.height &&
      extent.width == had.width) {
    return absl::OkStatus();
  }
  channels_ = channels;
  return array_.Allocate(channels == 1 ? cudaCreateChannelDescHalf() : cudaCreateChannelDescHalf4(),
                         extent, stream);
}

}  // namespace isocenter::cuda
