#include "kernels/ops/device.h"

#include <new>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/device_lost.h"

namespace isocenter::ops {
namespace {

class PlainHostMemory final : public HostMemory {
 public:
  explicit PlainHostMemory(std::unique_ptr<std::byte[]> memory) : memory_(std::move(memory)) {}
  std::byte* data() override { return memory_.get(); }

 private:
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace

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

absl::StatusOr<std::unique_ptr<HostMemory>> Device::NewHostMemory(int64_t bytes) {
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[bytes]);
  if (memory == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("no ", bytes, " bytes of host memory"));
  }
  return std::make_unique<PlainHostMemory>(std::move(memory));
}

absl::Status Device::Break() {
  return DeviceLostError(absl::StrCat("the ", backend(), " device was broken on request"));
}

}  // namespace isocenter::ops
