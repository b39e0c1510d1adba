// Host memory that images go through on their way to a device.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/base/views.h"
#include "kernels/ops/device.h"

namespace isocenter::rabbitct {

/// Room for the images that a runner hands over between two pauses, in memory that the device
/// copies from at full speed. A runner that reads its files into the buffers spares a copy of each.
/// Not thread-safe.
class ImageBuffers {
 public:
  /// Page-locked memory is the whole machine's: of larger runs less is held.
  static constexpr int kMost = 512;

  /// For `images` images of `image`, 1 x rows x columns; at most kMost. Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<ImageBuffers> Create(ops::Device& device, int images, Shape3 image);

  /// One for each image.
  std::span<float*> pointers() { return pointers_; }
  int count() const { return static_cast<int>(pointers_.size()); }

  /// The image times `weight`: where it is when that is one of the buffers, else in buffer
  /// `position`, which is written. Errors: FAILED_PRECONDITION (a buffer again before Reuse: what
  /// was in it may not have left yet).
  absl::StatusOr<HostView3<const float>> Take(std::span<const float> image, float weight,
                                              int position);
  /// All that was taken has left.
  void Reuse() { std::fill(taken_.begin(), taken_.end(), false); }

 private:
  ImageBuffers() = default;

  Shape3 image_;
  std::unique_ptr<ops::HostMemory> memory_;
  std::vector<float*> pointers_;
  std::vector<bool> taken_;
  std::unique_ptr<ThreadPool> workers_;
};

}  // namespace isocenter::rabbitct
