#include "kernels/recon/second_pass/volume_memory.h"

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

}  // namespace isocenter::recon
