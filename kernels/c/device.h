// A device behind its handle.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "kernels/c/isocenter_kernels.h"
#include "kernels/ops/device.h"

namespace isocenter::c {

/// Shared by the handle and what was made from it. Its threads and its driver's state belong to the
/// process that opened it: in a child they are not there, and nothing of it may be used or ended.
class OpenDevice {
 public:
  explicit OpenDevice(std::unique_ptr<ops::Device> device);
  ~OpenDevice();
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;

  ops::Device& operator*() const { return *device_; }
  ops::Device* operator->() const { return device_.get(); }
  const std::string& description() const { return description_; }
  const std::string& backend() const { return backend_; }

  /// Opened by a process of which this one is a child.
  bool foreign() const;
  /// FAILED_PRECONDITION where it is.
  absl::Status CheckOwn() const;

 private:
  std::unique_ptr<ops::Device> device_;
  const pid_t owner_;
  const std::string description_, backend_;
};

/// What needs memory on a device and in the host, before it is taken. Errors: RESOURCE_EXHAUSTED.
absl::Status CheckMemory(absl::string_view what, const ops::Device& device, int64_t device_bytes,
                         int64_t host_bytes);

}  // namespace isocenter::c

struct isocenter_device {
  std::shared_ptr<const isocenter::c::OpenDevice> open;
};
