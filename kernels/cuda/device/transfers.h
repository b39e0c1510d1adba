// Copies between host memory and one buffer of a session that go on beside the session's kernels.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "kernels/base/views.h"
#include "kernels/cuda/device/owners.h"

namespace isocenter::cuda {

class CudaSession;

/// The copies of a buffer, in order with the kernels that read and write it. `session` is
/// the buffer's, and its device current.
class Transfers {
 public:
  /// Errors: INTERNAL, RESOURCE_EXHAUSTED (events, of the current device).
  static absl::StatusOr<Transfers> Create();

  /// Copies to `to` once what was started on the session before has ended. The host memory stays
  /// until Session::Synchronize.
  absl::Status StartUpload(CudaSession& session, HostView3<const float> from, float* to);
  /// As ops::VolumeBuffer::StartDownload.
  absl::Status StartDownload(CudaSession& session, const float* from, HostView3<float> to,
                             std::function<void()> arrived);

  /// Has kernels that are started from now on wait for uploads that go on: before they read.
  absl::Status WaitForUploads(const CudaSession& session);
  /// For downloads too: before they write.
  absl::Status WaitForCopies(const CudaSession& session);

 private:
  Transfers(Event computed, Event uploaded, Event downloaded)
      : computed_(std::move(computed)),
        uploaded_(std::move(uploaded)),
        downloaded_(std::move(downloaded)) {}

  Event computed_, uploaded_, downloaded_;
  bool uploading_ = false, downloading_ = false;
};

}  // namespace isocenter::cuda
