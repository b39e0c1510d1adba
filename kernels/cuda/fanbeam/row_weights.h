// What rows of a fan-beam scan are multiplied with, in device memory.
#pragma once

#include "kernels/cuda/device/session.h"
#include "kernels/ops/fan_beam.h"

namespace isocenter::cuda {

/// One row for all views of a full scan, else one for each.
class FanBeamWeightTable {
 public:
  static int64_t Count(const FanBeamGeometry& geometry) {
    return int64_t{geometry.FullScan() ? 1 : geometry.views} * geometry.channels;
  }
  /// Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<FanBeamWeightTable> Create(const CudaSession& session,
                                                   const FanBeamGeometry& geometry);
  /// Of the views from `first` on; `stride` apart.
  const float* row(int64_t first) const { return weights_.data() + first * stride_; }
  int64_t stride() const { return stride_; }

 private:
  DeviceBuffer<float> weights_;
  int64_t stride_ = 0;
};

}  // namespace isocenter::cuda
