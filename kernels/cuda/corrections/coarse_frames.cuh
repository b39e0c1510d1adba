// From frames to blocks of pixels and back (kernels/ops/corrections.h).
#pragma once

#include "kernels/cuda/corrections/coarse_frames.h"
#include "kernels/cuda/corrections/spread_tables.h"

namespace isocenter::cuda {

/// Takes off a frame what take(view, pixel, interpolated) says. A thread goes down one column of
/// pixels, from the centres of one row of blocks to those of the next; grid.y is one more than
/// there are rows of blocks.
template <class Take>
__global__ void TakeOffKernel(FrameShape shape, const float* fields, int64_t fields_of_view,
                              Take take, float* frames) {
  constexpr int kSide = ops::kCoarseBlock;
  const int u = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (u >= shape.columns) return;
  const int view = static_cast<int>(blockIdx.z);
  const BlockShape blocks = shape.blocks;
  const float* const means = fields + view * fields_of_view;
  const float place =
      fminf(fmaxf((u - (kSide - 1) / 2.f) / kSide, 0.f), static_cast<float>(blocks.columns - 1));
  const int left = static_cast<int>(place), right = min(left + 1, blocks.columns - 1);
  const float share = place - left;
  const int lower = static_cast<int>(blockIdx.y);
  const auto across = [&](int row) {
    const float* const line = means + min(max(row, 0), blocks.rows - 1) * blocks.columns;
    return fmaf(share, line[right] - line[left], line[left]);
  };
  const float above = across(lower - 1), below = across(lower);
  const int centre = lower * kSide - kSide / 2;
  float* const column = frames + static_cast<int64_t>(view) * shape.rows * shape.columns + u;
  float pixels[kSide];  // all on their way before the first is written back
#pragma unroll
  for (int k = 0; k < kSide; ++k) {
    const int v = centre + k;
    if (v >= 0 && v < shape.rows) pixels[k] = column[static_cast<int64_t>(v) * shape.columns];
  }
#pragma unroll
  for (int k = 0; k < kSide; ++k) {
    const int v = centre + k;
    if (v < 0 || v >= shape.rows) continue;
    column[static_cast<int64_t>(v) * shape.columns] =
        take(view, pixels[k], fmaf((k + 0.5f) / kSide, below - above, above));
  }
}

/// By a session's device, on its stream.
template <class Take>
absl::Status TakeOff(const FrameShape& shape, int64_t views, const float* fields,
                     int64_t fields_of_view, Take take, cudaStream_t stream, float* frames) {
  constexpr int kThreads = 128;
  const dim3 grid((shape.columns + kThreads - 1) / kThreads, shape.blocks.rows + 1,
                  static_cast<unsigned>(views));
  TakeOffKernel<<<grid, kThreads, 0, stream>>>(shape, fields, fields_of_view, take, frames);
  return ToStatus(cudaGetLastError(), "TakeOffKernel");
}

}  // namespace isocenter::cuda
