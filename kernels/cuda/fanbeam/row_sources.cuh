// What back-projections read of a stack: its rows, or rows that are made of them.
#pragma once

#include <algorithm>

#include "kernels/cuda/device/session.h"
#include "kernels/cuda/fanbeam/view_tables.h"

namespace isocenter::cuda {

/// Rows in device memory, [view][slice][element].
struct FanRows {
  const float* data;
  Shape3 shape;
};

/// Those of the stack.
class FanChannelRows {
 public:
  static constexpr bool kTangent = false;
  explicit FanChannelRows(CudaSession&) {}

  static Shape3 Largest(const Shape3& stack) { return stack; }
  static int64_t Bytes(const Shape3&) { return 0; }
  absl::StatusOr<FanRows> Of(const FanBeamGeometry&, const Stack& stack) {
    return FanRows{stack.data(), stack.shape()};
  }
  template <class T>
  FanScan<T> Scan(const FanBeamGeometry& geometry) const {
    return MakeFanScan<T>(geometry);
  }
};

/// Element i is what a row has at `positions[i]`, linear between channels, zero beside them.
__global__ inline void ResampleFanRows(const float* rows, int channels, const float* positions,
                                       int count, int64_t row_count, float* resampled) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float position = positions[i], whole = floorf(position), share = position - whole;
  const int c = static_cast<int>(whole);
  for (int64_t row = blockIdx.y; row < row_count; row += gridDim.y) {
    const float* const from = rows + row * channels;
    const float low = c >= 0 && c < channels ? from[c] : 0;
    const float high = c >= -1 && c + 1 < channels ? from[c + 1] : 0;
    resampled[row * count + i] = fmaf(share, high - low, low);
  }
}

/// Rows of arcs resampled to equal steps of tan γ (kernels/geometry/tangent_rows.h); of flat
/// detectors those of the stack.
template <int kPerChannel>
class FanTangentRows {
 public:
  static constexpr bool kTangent = true;
  explicit FanTangentRows(CudaSession& session) : session_(session) {}

  static Shape3 Largest(const Shape3& stack) {
    return {stack.slow, stack.middle, MostTangentElements(stack.fast, kPerChannel)};
  }
  static int64_t Bytes(const Shape3& stack) {
    const Shape3 largest = Largest(stack);
    return (largest.count() + largest.fast) * int64_t{sizeof(float)};
  }

  absl::StatusOr<FanRows> Of(const FanBeamGeometry& geometry, const Stack& stack) {
    const Shape3& shape = stack.shape();
    if (geometry.detector == FanBeamGeometry::Detector::kFlat) return FanRows{stack.data(), shape};
    const TangentRows rows = MakeTangentRows(geometry, kPerChannel);
    const std::vector<float> positions(rows.positions.begin(), rows.positions.end());
    const int64_t count = rows.count(), row_count = shape.slow * shape.middle;
    ISO_RETURN_IF_ERROR(positions_.Reserve(session_.memory(), count));
    ISO_RETURN_IF_ERROR(resampled_.Reserve(session_.memory(), row_count * count));
    ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(positions_.data(), positions.data(),
                                             positions.size() * sizeof(float),
                                             cudaMemcpyHostToDevice, session_.stream()));
    constexpr int64_t kMostRows = 32768;  // of a grid of blocks along an axis
    const dim3 blocks((count + 255) / 256, std::min(row_count, kMostRows));
    ResampleFanRows<<<blocks, 256, 0, session_.stream()>>>(
        stack.data(), static_cast<int>(shape.fast), positions_.data(), static_cast<int>(count),
        row_count, resampled_.data());
    ISO_RETURN_IF_ERROR(ToStatus(cudaGetLastError(), "ResampleFanRows"));
    return FanRows{resampled_.data(), {shape.slow, shape.middle, count}};
  }

  template <class T>
  FanScan<T> Scan(const FanBeamGeometry& geometry) const {
    if (geometry.detector == FanBeamGeometry::Detector::kFlat) return MakeFanScan<T>(geometry);
    return MakeFanScan<T>(geometry, MakeTangentRows(geometry, kPerChannel));
  }

 private:
  CudaSession& session_;
  DeviceBuffer<float> positions_, resampled_;
};

}  // namespace isocenter::cuda
