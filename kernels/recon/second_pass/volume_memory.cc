#include "kernels/recon/second_pass/volume_memory.h"

#include <algorithm>
#include <span>

#include "kernels/base/status_macros.h"
#include "kernels/recon/plan.h"

namespace isocenter::recon {

absl::StatusOr<VolumeMemory> VolumeMemory::Create(const VolumeGrid& grid, ops::Device* device) {
  VolumeMemory memory(grid.shape());
  if (device != nullptr) {
    ISO_ASSIGN_OR_RETURN(memory.locked_, device->NewHostMemory(VolumeBytes(grid)));
    memory.voxels_ = reinterpret_cast<float*>(memory.locked_->data());
    return memory;
  }
  ISO_ASSIGN_OR_RETURN(memory.pages_, PageBuffer::Create(grid.voxels()));
  memory.voxels_ = memory.pages_.data();
  return memory;
}

void VolumeMemory::CopyTo(HostView3<float> slices, ThreadPool& threads) const {
  threads.ParallelFor(shape_.slow, [&](int64_t z, int) {
    const std::span<const float> from = view().slices(z, 1).span();
    std::copy(from.begin(), from.end(), slices.slices(z, 1).span().begin());
  });
}

}  // namespace isocenter::recon
