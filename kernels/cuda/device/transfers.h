// Copies between host memory and one buffer of a session that go on beside the session's kernels.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "kernels/base/views.h"
#include "kernels/cuda/device/owners.h"

namespace isocenter::cuda {

class CudaDevice;

/// The copies of a buffer, in order with the kernels that read and write it. `device` is the
/// buffer's session and current.
class Transfers {
 public:
  /// Errors: INTERNAL, RESOURCE_EXHAUSTED (events, of the current device).
  static absl::StatusOr<Transfers> Create();

  /// Copies to `to` once what was started on the session before has ended. The host memory stays
  /// until Device::Synchronize.
  absl::Status StartUpload(CudaDevice& device, HostView3<const float> from, float* to);
  /// As ops::VolumeBuffer::StartDownload.
  absl::Status StartDownload(CudaDevice& device, const float* from, HostView3<float> to,
                             std::function<void()> arrived);

  /// Has kernels that are started from now on wait for uploads that go on: before they read.
  absl::Status WaitForUploads(const CudaDevice& device);
  /// For downloads too: before they write.
  absl::Status WaitForCopies(const CudaDevice& device);

 private:
  Transfers(Event computed, Event uploaded, Event downloaded)
      : computed_(std::move(computed)),
        uploaded_(std::move(uploaded)),
        downloaded_(std::move(downloaded)) {}

  Event computed_, uploaded_, downloaded_;
  bool uploading_ = false, downloading_ = false;
};

}  // namespace isocenter::cuda
