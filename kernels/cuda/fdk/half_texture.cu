#include <cuda_fp16.h>

#include "kernels/cuda/device/half_pixels.h"
#include "kernels/cuda/device/status.h"
#include "kernels/cuda/fdk/half_texture.h"

namespace isocenter::cuda {
namespace {

// A sector of an array has two rows of a few texels: a warp writes two rows of kColumns texels at a
// time, and so whole sectors.
constexpr int kColumns = 16, kWarps = 4;
constexpr int kRun = 16;  // rows of texels per warp; FillRows needs each row of pixels for four

struct Place {
  int u, v;  // of a thread's first texel; the next one is two rows further
};
__device__ Place PlaceOfThread(int begin) {
  const int lane = threadIdx.x, warp = threadIdx.y;
  return {static_cast<int>(blockIdx.x * kWarps + warp) * kColumns + lane % kColumns,
          begin + static_cast<int>(blockIdx.y) * kRun + lane / kColumns};
}

// Both write texels of rows [begin, end), begin even, zeros where there are no pixels: earlier
// views may have had more rows.
__global__ void FillPixelsKernel(const float* from, int rows, int columns, int begin, int end,
                                 cudaSurfaceObject_t surface) {
  const int view = blockIdx.z;
  const auto [u, first] = PlaceOfThread(begin);
  if (u >= columns) return;
  const float* const pixels = from + static_cast<int64_t>(view) * rows * columns + u;
#pragma unroll
  for (int v = first; v < first + kRun; v += 2) {
    if (v >= end) break;
    const float value = v < rows ? kHalfScale * pixels[static_cast<int64_t>(v) * columns] : 0.f;
    const __half pixel = __float2half_rn(value);
    surf2DLayeredwrite(__half_as_ushort(pixel), surface, u * 2, v, view);
  }
}

__global__ void FillRowsKernel(const float* from, int rows, int columns, int begin, int end,
                               uint32_t flipped, cudaSurfaceObject_t surface) {
  constexpr int kAbove = HalfTexture::kRowsAbove;
  const int view = blockIdx.z;
  const auto [u, first] = PlaceOfThread(begin);
  if (u >= columns) return;
  const float* const pixels = from + static_cast<int64_t>(view) * rows * columns + u;
  const bool flip = (flipped >> view) & 1;
  __half row[kRun + 2];
#pragma unroll
  for (int i = 0; i < kRun + 2; ++i) {
    const int v = first + i - kAbove;
    const bool exists = v >= 0 && v < rows;
    const int64_t at = static_cast<int64_t>(flip ? rows - 1 - v : v) * columns;
    row[i] = __float2half_rn(exists ? kHalfScale * pixels[at] : 0.f);
  }
#pragma unroll
  for (int i = 0; i < kRun; i += 2) {
    if (first + i >= end) break;
    const auto pair = [&](int at) {
      return static_cast<unsigned>(__half_as_ushort(row[at])) |
             static_cast<unsigned>(__half_as_ushort(row[at + 1])) << 16;
    };
    surf2DLayeredwrite(make_uint2(pair(i), pair(i + 2)), surface, u * 8, first + i, view);
  }
}

dim3 BlocksOf(int columns, int rows, int views) {
  const auto blocks = [](int n, int size) { return static_cast<unsigned>((n + size - 1) / size); };
  return {blocks(columns, kColumns * kWarps), blocks(rows, kRun), static_cast<unsigned>(views)};
}
const dim3 kThreadsOfBlock(2 * kColumns, kWarps);

}  // namespace

absl::Status HalfTexture::FillPixels(const float* from, int views, int rows, RowRange seen,
                                     const Shape3& capacity, const CudaSession& session) {
  ISO_RETURN_IF_ERROR(Reserve(1, capacity, session));
  const int columns = static_cast<int>(capacity.fast);
  const int begin = seen.first & ~1;
  const int end = seen.end() < rows ? seen.end() : array_rows();
  FillPixelsKernel<<<BlocksOf(columns, end - begin, views), kThreadsOfBlock, 0, session.stream()>>>(
      from, rows, columns, begin, end, array_.surface());
  return ToStatus(cudaGetLastError(), "FillPixelsKernel");
}

absl::Status HalfTexture::FillRows(const float* from, int views, int rows, RowRange seen,
                                   const Shape3& capacity, uint32_t flipped,
                                   const CudaSession& session) {
  ISO_RETURN_IF_ERROR(
      Reserve(4, {capacity.slow, capacity.middle + kRowsAbove, capacity.fast}, session));
  const int columns = static_cast<int>(capacity.fast);
  const int begin = seen.first == 0 ? 0 : (seen.first + kRowsAbove) & ~1;
  const int end = seen.end() < rows ? seen.end() + kRowsAbove : array_rows();
  FillRowsKernel<<<BlocksOf(columns, end - begin, views), kThreadsOfBlock, 0, session.stream()>>>(
      from, rows, columns, begin, end, flipped, array_.surface());
  return ToStatus(cudaGetLastError(), "FillRowsKernel");
}

absl::Status HalfTexture::Reserve(int channels, const Shape3& array, const CudaSession& session) {
  const cudaExtent extent{static_cast<size_t>(array.fast), static_cast<size_t>(array.middle),
                          static_cast<size_t>(array.slow)};
  const cudaExtent& had = array_.extent();
  if (channels == channels_ && extent.depth <= had.depth && extent.height <= had.height &&
      extent.width == had.width) {
    return absl::OkStatus();
  }
  channels_ = channels;
  return array_.Allocate(channels == 1 ? cudaCreateChannelDescHalf() : cudaCreateChannelDescHalf4(),
                         extent, session);
}

}  // namespace isocenter::cuda
