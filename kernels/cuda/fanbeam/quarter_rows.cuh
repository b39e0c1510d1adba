// Rows of a full scan for back-projection by quarter turns: an element holds what a channel saw in
// the four views that are a quarter turn apart. Two zeros stand beside the outer channels.
#pragma once

#include <algorithm>

#include "kernels/cuda/device/layered_array.h"
#include "kernels/cuda/device/session.h"
#include "kernels/cuda/fanbeam/row_sources.cuh"

namespace isocenter::cuda {

inline constexpr int kQuarterMargin = 2;

template <class T>
struct alignas(sizeof(T) == sizeof(float) ? 16 : 32) Quad {
  T view[4];
};

/// Element (v, slice, c) of `quads` [view][slice][channel + margins]; `step` is 1 where angles
/// grow, 3 where they fall: then the view that is a quarter turn on is three quarters of the scan
/// on.
template <class T>
__global__ void PackQuarters(const float* rows, int quarter, int slices, int channels, int step,
                             Quad<T>* quads) {
  const int stride = channels + 2 * kQuarterMargin;
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  const int64_t row = int64_t{blockIdx.z} * gridDim.y + blockIdx.y;
  if (at >= stride || row >= static_cast<int64_t>(quarter) * slices) return;
  const int c = at - kQuarterMargin;
  Quad<T> quad;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int64_t from = (static_cast<int64_t>(k * step % 4) * quarter * slices + row) * channels;
    quad.view[k] = c >= 0 && c < channels ? rows[from + c] : 0;
  }
  quads[row * stride + at] = quad;
}

// floor(x - ½) by what a sum with it rounds away: 1.5 · 2^23, 1.5 · 2^52.
__device__ inline int Below(float position, float& fraction) {
  constexpr float kMagic = 12582912.0f;
  const float rounded = __fadd_rn(__fadd_rn(position, -0.5f), kMagic);
  fraction = position - __fadd_rn(rounded, -kMagic);
  return __float_as_int(rounded) - __float_as_int(kMagic);
}
__device__ inline int Below(double position, double& fraction) {
  constexpr double kMagic = 6755399441055744.0;
  const double rounded = __dadd_rn(__dadd_rn(position, -0.5), kMagic);
  fraction = position - __dadd_rn(rounded, -kMagic);
  return __double2loint(rounded);
}

/// One view of the quarter. Add adds what it and the three that belong to it have at a channel,
/// linear between channels, times the weight: the sum `m` gets that of view m + place.
template <class T>
struct QuadRow {
  const Quad<T>* quads;
  int last;  // element that has a right neighbor

  __device__ void Add(T position, T weight, int place, T (&sums)[4]) const {
    T fraction;
    const Quad<T>* const at = quads + min(max(Below(position, fraction) + kQuarterMargin, 0), last);
    const Quad<T> left = at[0], right = at[1];
    const T high_weight = weight * fraction, low_weight = weight - high_weight;
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      const int k = (m + place) % 4;
      sums[m] = fma(high_weight, right.view[k], fma(low_weight, left.view[k], sums[m]));
    }
  }
};

template <class T>
struct QuadsInMemory {
  const Quad<T>* quads;
  int slices, channels;

  __device__ QuadRow<T> Row(int v, int slice) const {
    const int64_t stride = channels + 2 * kQuarterMargin;
    return {quads + (static_cast<int64_t>(v) * slices + slice) * stride, channels + kQuarterMargin};
  }
};

struct TexturedQuadRow {
  cudaTextureObject_t texture;
  float row;

  __device__ void Add(float position, float weight, int place, float (&sums)[4]) const {
    const float4 quad = tex2DLayered<float4>(texture, position + (kQuarterMargin + 0.5f), row, 0);
    const float views[4] = {quad.x, quad.y, quad.z, quad.w};
#pragma unroll
    for (int m = 0; m < 4; ++m) sums[m] = fma(weight, views[(m + place) % 4], sums[m]);
  }
};

struct QuadsInTexture {
  cudaTextureObject_t texture;
  int slices;

  __device__ TexturedQuadRow Row(int v, int slice) const {
    return {texture, v * slices + slice + 0.5f};
  }
};

/// Packs stacks and keeps them.
template <class T>
class QuarterRows {
 public:
  explicit QuarterRows(CudaSession& session) : session_(session) {}

  static int64_t Bytes(const Shape3& stack) {
    return stack.slow / 4 * stack.middle * (stack.fast + 2 * kQuarterMargin) *
           int64_t{sizeof(Quad<T>)};
  }

  /// Calls add(first view of the quarter, views, rows) for parts that make up the quarter.
  template <class Add>
  absl::Status ForEachPart(const FanRows& from, bool growing, Add add) {
    ISO_ASSIGN_OR_RETURN(const Quad<T>* quads, Pack(from, growing));
    const Shape3& shape = from.shape;
    return add(
        0, static_cast<int>(shape.slow / 4),
        QuadsInMemory<T>{quads, static_cast<int>(shape.middle), static_cast<int>(shape.fast)});
  }

  absl::StatusOr<const Quad<T>*> Pack(const FanRows& from, bool growing) {
    const Shape3& shape = from.shape;
    const int64_t quarter = shape.slow / 4, rows = quarter * shape.middle;
    const int64_t stride = shape.fast + 2 * kQuarterMargin;
    ISO_RETURN_IF_ERROR(quads_.Reserve(session_.memory(), rows * stride));
    constexpr int64_t kMostRows = 32768;  // of a grid of blocks along an axis
    const dim3 blocks((stride + 255) / 256, std::min(rows, kMostRows),
                      (rows + kMostRows - 1) / kMostRows);
    PackQuarters<<<blocks, 256, 0, session_.stream()>>>(
        from.data, static_cast<int>(quarter), static_cast<int>(shape.middle),
        static_cast<int>(shape.fast), growing ? 1 : 3, quads_.data());
    ISO_RETURN_IF_ERROR(ToStatus(cudaGetLastError(), "PackQuarters"));
    return quads_.data();
  }

 private:
  CudaSession& session_;
  DeviceBuffer<Quad<T>> quads_;
};

/// The same in a texture, whose unit interpolates with weights of 8 bits.
class QuarterRowsInTexture {
 public:
  explicit QuarterRowsInTexture(CudaSession& session)
      : session_(session), packed_(session), array_(LayeredArray::Writing::kByCopies) {}

  static int64_t Bytes(const Shape3& stack) {
    const int64_t rows = std::min(kMostRows, stack.slow / 4 * stack.middle);
    return QuarterRows<float>::Bytes(stack) +
           rows * (stack.fast + 2 * kQuarterMargin) * int64_t{sizeof(Quad<float>)};
  }

  template <class Add>
  absl::Status ForEachPart(const FanRows& from, bool growing, Add add) {
    const Shape3& shape = from.shape;
    const int64_t quarter = shape.slow / 4, stride = shape.fast + 2 * kQuarterMargin;
    if (stride > kMostChannels || shape.middle > kMostRows) {
      return packed_.ForEachPart(from, growing, add);
    }
    ISO_ASSIGN_OR_RETURN(const Quad<float>* quads, packed_.Pack(from, growing));
    const int64_t most = std::max<int64_t>(1, std::min(kMostRows / shape.middle, quarter));
    ISO_RETURN_IF_ERROR(array_.Reserve(cudaCreateChannelDesc<float4>(),
                                       make_cudaExtent(stride, most * shape.middle, 1), session_));
    for (int64_t first = 0; first < quarter; first += most) {
      const int64_t count = std::min(most, quarter - first);
      ISO_RETURN_IF_ERROR(
          Copy(quads + first * shape.middle * stride, stride, count * shape.middle));
      ISO_RETURN_IF_ERROR(add(static_cast<int>(first), static_cast<int>(count),
                              QuadsInTexture{array_.texture(), static_cast<int>(shape.middle)}));
    }
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kMostRows = 16384, kMostChannels = 32768;  // of a texture

  absl::Status Copy(const Quad<float>* quads, int64_t stride, int64_t rows) {
    const size_t bytes = stride * sizeof(Quad<float>);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(const_cast<Quad<float>*>(quads), bytes, stride, rows);
    copy.dstArray = array_.array();
    copy.extent = make_cudaExtent(stride, rows, 1);
    copy.kind = cudaMemcpyDeviceToDevice;
    return ToStatus(cudaMemcpy3DAsync(&copy, session_.stream()), "cudaMemcpy3DAsync");
  }

  CudaSession& session_;
  QuarterRows<float> packed_;
  LayeredArray array_;
};

}  // namespace isocenter::cuda
