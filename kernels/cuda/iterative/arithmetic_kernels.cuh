// Kernels of Arithmetic: element by element, and inner products.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/block_sum.cuh"
#include "kernels/cuda/device/hinges.cuh"

namespace isocenter::cuda {

inline constexpr int kElementThreads = 256;

/// What an element of y becomes. kReads: which operands are.
enum Operand { kX = 1, kW = 2, kY = 4 };
struct FillOp {
  static constexpr int kReads = 0;
  float value;
  __device__ float operator()(float, float, float) const { return value; }
};
struct ScaleOp {
  static constexpr int kReads = kX;
  float a;
  __device__ float operator()(float x, float, float) const { return a * x; }
};
struct AxpbyOp {
  static constexpr int kReads = kX | kY;
  float a, b;
  __device__ float operator()(float x, float, float y) const { return fmaf(a, x, b * y); }
};
struct MultiplyOp {
  static constexpr int kReads = kX | kY;
  __device__ float operator()(float x, float, float y) const { return x * y; }
};
struct MultiplyAddOp {
  static constexpr int kReads = kX | kW | kY;
  float a;
  __device__ float operator()(float x, float w, float y) const { return fmaf(a * w, x, y); }
};
struct MultiplyAddAboveOp {
  static constexpr int kReads = kX | kW | kY;
  float a, least;
  __device__ float operator()(float x, float w, float y) const {
    const float sum = fmaf(a * w, x, y);
    return sum < least ? least : sum;
  }
};
struct InvertOp {
  static constexpr int kReads = kY;
  double threshold;
  __device__ float operator()(float, float, float y) const { return y > threshold ? 1 / y : 0; }
};
struct ExponentialOp {
  static constexpr int kReads = kY;
  float a;
  __device__ float operator()(float, float, float y) const { return expf(a * y); }
};
struct ClampBelowOp {
  static constexpr int kReads = kY;
  float least;
  __device__ float operator()(float, float, float y) const { return y < least ? least : y; }
};
struct BendOp {
  static constexpr int kReads = kY;
  ops::HounsfieldHinges hinges;
  __device__ float operator()(float, float, float y) const { return At(hinges, y); }
};

/// Four elements at a time, since memory is what bounds it. Operands may be the same array.
template <class Op>
__global__ __launch_bounds__(kElementThreads) void ApplyKernel(Op op, const float* x,
                                                               const float* w, float* y,
                                                               int64_t count) {
  const int64_t quads = count / 4, stride = static_cast<int64_t>(gridDim.x) * kElementThreads;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kElementThreads + threadIdx.x;
  const auto quad = [](const float* from, int64_t i) {
    return reinterpret_cast<const float4*>(from)[i];
  };
  for (int64_t i = first; i < quads; i += stride) {
    float4 a{}, b{}, c{};
    if constexpr ((Op::kReads & kX) != 0) a = quad(x, i);
    if constexpr ((Op::kReads & kW) != 0) b = quad(w, i);
    if constexpr ((Op::kReads & kY) != 0) c = quad(y, i);
    reinterpret_cast<float4*>(y)[i] =
        make_float4(op(a.x, b.x, c.x), op(a.y, b.y, c.y), op(a.z, b.z, c.z), op(a.w, b.w, c.w));
  }
  for (int64_t i = 4 * quads + first; i < count; i += stride) {
    float a = 0, b = 0, c = 0;
    if constexpr ((Op::kReads & kX) != 0) a = x[i];
    if constexpr ((Op::kReads & kW) != 0) b = w[i];
    if constexpr ((Op::kReads & kY) != 0) c = y[i];
    y[i] = op(a, b, c);
  }
}

/// Elements of which `runs` runs of `length` begin every `stride`.
struct Runs {
  int64_t runs, length, stride;
};

/// One partial sum per block; blocks in y share the runs.
__global__ __launch_bounds__(kSumThreads) inline void DotKernel(const float* x, const float* y,
                                                                Runs r, double* partial) {
  double sum = 0;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kSumThreads + threadIdx.x;
  const int64_t step = static_cast<int64_t>(gridDim.x) * kSumThreads;
  for (int64_t run = blockIdx.y; run < r.runs; run += gridDim.y) {
    const float *const a = x + run * r.stride, *const b = y + run * r.stride;
#pragma unroll 4
    for (int64_t i = first; i < r.length; i += step) {
      sum = fma(static_cast<double>(a[i]), static_cast<double>(b[i]), sum);
    }
  }
  sum = BlockSum(sum);
  if (threadIdx.x == 0) partial[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

__global__ __launch_bounds__(kElementThreads) inline void AddRunsKernel(
    const float* from, int64_t from_stride, float* to, int64_t to_stride, int64_t length) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kElementThreads + threadIdx.x;
  if (i < length) to[blockIdx.y * to_stride + i] += from[blockIdx.y * from_stride + i];
}

}  // namespace isocenter::cuda
