// Data of one session for another, of the same device or of another.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/cuda/device/session.h"
#include "kernels/geometry/detector_rows.h"

namespace isocenter::cuda {

/// Has work that is started on `later` from now on wait for what was started on `earlier`. The
/// device of `later` is the calling thread's afterwards.
absl::Status WaitForSession(const CudaSession& earlier, const CudaSession& later);

/// What a session reads of others. Between devices it is copied, directly where the hardware can,
/// else by way of host memory.
class SessionCopies {
 public:
  explicit SessionCopies(CudaSession& session) : session_(session) {}

  /// Copies `count` elements, perhaps of another device, on the session's stream.
  absl::Status Copy(const CudaSession& owner, const float* from, int64_t count, float* to);

  /// Where this device's kernels can read rows of a stack.
  struct Rows {
    const float* data;  // of the first view's first row
    int64_t stride;     // elements from view to view
  };
  /// Rows of `views` views of `from` from `first_view`; to be read on the session's stream before
  /// the next call. Errors: RESOURCE_EXHAUSTED (device memory).
  absl::StatusOr<Rows> Reach(const Stack& from, int64_t first_view, int64_t views, RowRange rows);
  /// How many views of so many elements one call of Reach should ask for, at least one.
  static int64_t ViewsAtOnce(int64_t elements);

 private:
  // Direct copies from a device, if the hardware can.
  absl::Status Connect(const CudaSession& owner);

  CudaSession& session_;
  DeviceBuffer<float> staging_;
  std::vector<int> connected_;  // ordinals
};

}  // namespace isocenter::cuda
