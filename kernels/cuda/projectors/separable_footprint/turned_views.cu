#include <cstdint>

#include "kernels/cuda/device/session.h"
#include "kernels/cuda/projectors/separable_footprint/turned_views.h"

namespace isocenter::cuda {
namespace {

constexpr int kTile = 32, kRows = 8;  // of a block

__global__ __launch_bounds__(kTile* kRows) void TurnKernel(const float* projections, int rows,
                                                           int columns, TurnedLayout layout,
                                                           float* turned) {
  __shared__ float tile[kTile][kTile + 1];
  const int all = columns + 2 * layout.aside;
  const int u0 = blockIdx.x * kTile, v0 = blockIdx.y * kTile;  // of the turned view
  const float* const from = projections + static_cast<int64_t>(blockIdx.z) * rows * columns;
  float* const to = turned + static_cast<int64_t>(blockIdx.z) * layout.pitch * all;
#pragma unroll
  for (int i = threadIdx.y; i < kTile; i += kRows) {
    const int u = u0 + static_cast<int>(threadIdx.x) - layout.aside, v = v0 + i;
    tile[i][threadIdx.x] = u >= 0 && u < columns && v < rows ? __ldcs(from + v * columns + u) : 0.f;
  }
  __syncthreads();
#pragma unroll
  for (int i = threadIdx.y; i < kTile; i += kRows) {
    const int u = u0 + i, v = v0 + threadIdx.x;
    if (u < all) to[u * layout.pitch + v] = tile[threadIdx.x][i];
  }
}

}  // namespace

int TurnedPitch(const Shape3& stack, int beyond) {
  return static_cast<int>((stack.middle + beyond + kTile - 1) / kTile) * kTile;
}

int64_t TurnedSize(const Shape3& stack, const TurnedLayout& layout) {
  return (stack.fast + 2 * layout.aside) * layout.pitch;
}

absl::Status TurnViews(const float* projections, int count, const Shape3& stack,
                       const TurnedLayout& layout, float* turned, cudaStream_t stream) {
  const int rows = static_cast<int>(stack.middle), columns = static_cast<int>(stack.fast);
  const dim3 tiles((columns + 2 * layout.aside + kTile - 1) / kTile, layout.pitch / kTile, count);
  TurnKernel<<<tiles, dim3(kTile, kRows), 0, stream>>>(projections, rows, columns, layout, turned);
  return ToStatus(cudaGetLastError(), "TurnKernel");
}

}  // namespace isocenter::cuda
