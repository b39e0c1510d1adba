// Host memory of a volume.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/base/page_buffer.h"
#include "kernels/base/thread_pool.h"
#include "kernels/base/views.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/device.h"

namespace isocenter::recon {

class VolumeMemory {
 public:
  /// Its values are not to be relied on. `device`: what copies to or from it, and then does it at
  /// full speed; null: none, and no pages are locked, which takes longer than all that threads do
  /// with it. Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<VolumeMemory> Create(const VolumeGrid& grid, ops::Device* device);

  /// [z][y][x]
  HostView3<float> view() const { return {voxels_, shape_}; }
  /// To slices of the same shape, with several threads.
  void CopyTo(HostView3<float> slices, ThreadPool& threads) const;

 private:
  explicit VolumeMemory(Shape3 shape) : shape_(shape) {}

  Shape3 shape_;
  std::unique_ptr<ops::HostMemory> locked_;  // one of these two
  PageBuffer pages_;
  float* voxels_ = nullptr;
};

}  // namespace isocenter::recon
