// Sums over large arrays whose order depends on shapes alone: kernels leave one partial sum per
// thread block, which are then summed in a fixed order.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/cuda/device/owners.h"

namespace isocenter::cuda {

/// The most thread blocks of one sum: the same on every device, so that its order is.
inline constexpr int kMostPartialSums = 2048;

/// Where partial sums go and how they become one number.
class Sums {
 public:
  /// On the current device. Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<Sums> Create(const Memory& memory);
  /// Of device memory.
  static constexpr int64_t kBytes = kMostPartialSums * int64_t{sizeof(double)};
  /// kMostPartialSums of them, on the device.
  double* partial() const { return partial_.data(); }
  /// The sum of the first `count` of them when what was started on `stream` has ended. Waits.
  absl::StatusOr<double> Total(int count, cudaStream_t stream);

 private:
  Sums(DeviceBuffer<double> partial, PinnedBuffer total)
      : partial_(std::move(partial)), total_(std::move(total)) {}
  DeviceBuffer<double> partial_;
  PinnedBuffer total_;
};

}  // namespace isocenter::cuda
