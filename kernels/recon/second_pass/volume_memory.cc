#include "kernels/recon/second_pass/volume_memory.h"

#include <new>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
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
  memory.plain_.reset(new (std::nothrow) float[grid.voxels()]);
  if (memory.plain_ == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no ", BytesText(VolumeBytes(grid)), " of host memory"));
  }
  memory.voxels_ = memory.plain_.get();
  return memory;
}

}  // namespace isocenter::recon
