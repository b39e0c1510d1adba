#include "kernels/rabbitct/streamed_volume.h"

#include <algorithm>

#include "absl/memory/memory.h"
#include "kernels/base/status_macros.h"

namespace isocenter::rabbitct {

absl::StatusOr<std::unique_ptr<StreamedVolume>> StreamedVolume::Create(const VolumeGrid& grid,
                                                                       int slices,
                                                                       ops::Session& session) {
  auto self = absl::WrapUnique(new StreamedVolume(grid, slices, session));
  ISO_ASSIGN_OR_RETURN(self->memory_, session.device().NewHostMemory(
                                          grid.voxels() * static_cast<int64_t>(sizeof(float))));
  for (auto& room : self->rooms_) {
    ISO_ASSIGN_OR_RETURN(room, session.NewVolume(self->GridOf(0)));
  }
  return self;
}

VolumeGrid StreamedVolume::GridOf(int part) const {
  VolumeGrid grid = grid_;
  grid.origin = grid_.VoxelToWorld(0, 0, part * slices_);
  grid.nz = std::min(slices_, grid_.nz - part * slices_);
  return grid;
}

absl::Status StreamedVolume::StartComing(int part) {
  if (!passed_) return RoomOf(part).Regrid(GridOf(part));
  ISO_RETURN_IF_ERROR(RoomOf(part).Reshape(GridOf(part)));
  return RoomOf(part).StartUpload(0, VoxelsOf(part));
}

absl::Status StreamedVolume::Pass(const std::function<absl::Status(ops::VolumeBuffer&)>& add) {
  if (passed_) ISO_RETURN_IF_ERROR(StartComing(0));
  for (int part = 0; part < parts(); ++part) {
    // A copy waits for the work that was started before it, so the next part's begins before this
    // part's work is. Zeros are work themselves and wait for the room's last download: they come
    // when this part's work has been beside that.
    if (!passed_) {
      ISO_RETURN_IF_ERROR(StartComing(part));
    } else if (part + 1 < parts()) {
      ISO_RETURN_IF_ERROR(StartComing(part + 1));
    }
    ISO_RETURN_IF_ERROR(add(RoomOf(part)));
    ISO_RETURN_IF_ERROR(RoomOf(part).StartDownload(0, VoxelsOf(part)));
  }
  passed_ = true;
  return session_.Synchronize();
}

}  // namespace isocenter::rabbitct
