#include "kernels/ops/buffers.h"

#include "kernels/base/status_macros.h"

namespace isocenter::ops {

absl::Status ProjectionStack::StartUpload(int64_t first_view, HostView3<const float> projections) {
  return Upload(first_view, projections);
}

absl::Status ProjectionStack::StartDownload(int64_t first_view, HostView3<float> projections,
                                            std::function<void()> arrived) {
  ISO_RETURN_IF_ERROR(Download(first_view, projections));
  if (arrived != nullptr) arrived();
  return absl::OkStatus();
}

absl::Status VolumeBuffer::Reshape(const VolumeGrid& grid) { return Regrid(grid); }

absl::Status VolumeBuffer::StartUpload(int64_t first_slice, HostView3<const float> slices) {
  return Upload(first_slice, slices);
}

absl::Status VolumeBuffer::StartDownload(int64_t first_slice, HostView3<float> slices,
                                         std::function<void()> arrived) {
  ISO_RETURN_IF_ERROR(Download(first_slice, slices));
  if (arrived != nullptr) arrived();
  return absl::OkStatus();
}

}  // namespace isocenter::ops
