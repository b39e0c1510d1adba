#include "kernels/cuda/corrections/coarse_frames.cuh"

namespace isocenter::cuda {
namespace {

constexpr int kSide = ops::kCoarseBlock;
constexpr int kThreads = 128;

// A thread adds up a column of a block, and the kSide threads of the block add their sums in pairs.
__global__ __launch_bounds__(kThreads) void BlockMeansKernel(FrameShape shape, const float* frames,
                                                             int64_t fields_of_view,
                                                             float* fields) {
  const int u = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y), view = static_cast<int>(blockIdx.z);
  const int rows = min(kSide, shape.rows - row * kSide);
  float sum = 0;
  if (u < shape.columns) {
    const float* const column =
        frames + (static_cast<int64_t>(view) * shape.rows + row * kSide) * shape.columns + u;
#pragma unroll
    for (int v = 0; v < kSide; ++v) {
      if (v < rows) sum += column[static_cast<int64_t>(v) * shape.columns];
    }
  }
#pragma unroll
  for (int offset = kSide / 2; offset > 0; offset /= 2) {
    sum += __shfl_down_sync(0xffffffffu, sum, offset, kSide);
  }
  if (threadIdx.x % kSide == 0 && u < shape.columns) {
    const int pixels = rows * min(kSide, shape.columns - u);
    fields[view * fields_of_view + row * shape.blocks.columns + u / kSide] = sum / pixels;
  }
}

}  // namespace

absl::Status FindBlockMeans(const FrameShape& shape, int64_t views, const float* frames,
                            int64_t fields_of_view, cudaStream_t stream, float* fields) {
  const dim3 grid((shape.columns + kThreads - 1) / kThreads, shape.blocks.rows,
                  static_cast<unsigned>(views));
  BlockMeansKernel<<<grid, kThreads, 0, stream>>>(shape, frames, fields_of_view, fields);
  return ToStatus(cudaGetLastError(), "BlockMeansKernel");
}

}  // namespace isocenter::cuda
