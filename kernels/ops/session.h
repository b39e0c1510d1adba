// A queue of work on a device.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/ops/buffers.h"
#include "kernels/ops/device.h"
#include "kernels/ops/timeline.h"

namespace isocenter::ops {

/// What one job does on a device. Operations of the same backend (kernels/ops/registry.h) are made
/// for a session and accept its buffers; buffers of another backend are refused with
/// INVALID_ARGUMENT.
///
/// Work may go on after the call that started it has returned; it runs in the order in which it was
/// started, and Download, Synchronize and Timeline::Take wait for it. Host memory that is passed to
/// a call is the caller's again when the call returns, StartUpload and StartDownload excepted.
///
/// A session, its buffers and its operations belong to one thread at a time: jobs that run side by
/// side have a session each.
class Session {
 public:
  explicit Session(Device& device) : device_(device) {}
  virtual ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Device& device() const { return device_; }
  absl::string_view backend() const { return device_.backend(); }
  virtual Timeline& timeline() = 0;

  /// Zero-filled. Errors: RESOURCE_EXHAUSTED, INVALID_ARGUMENT.
  virtual absl::StatusOr<std::unique_ptr<ProjectionStack>> NewProjectionStack(Shape3 shape,
                                                                              StackUse use) = 0;
  virtual absl::StatusOr<std::unique_ptr<VolumeBuffer>> NewVolume(const VolumeGrid& grid) = 0;

  /// Returns when all work that was started in the session has ended.
  virtual absl::Status Synchronize() = 0;

 private:
  Device& device_;
};

}  // namespace isocenter::ops
