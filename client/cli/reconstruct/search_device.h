// Where a search that needs derivatives by matrices works.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/reconstruct/options.h"
#include "kernels/ops/device.h"

namespace isocenter::cli {

/// The device of a reconstruction, or the host's cores where that has no derivatives by matrices.
class SearchDevice {
 public:
  /// `device` must outlive it. Errors: those of opening a device.
  static absl::StatusOr<SearchDevice> Choose(ops::Device& device,
                                             const ReconstructOptions& options);

  ops::Device& operator*() const { return *device_; }
  /// Whether the host has what a search takes of its memory and of the device's; then tells that
  /// `what` is searched for there. Errors: RESOURCE_EXHAUSTED.
  absl::Status Begin(absl::string_view what, absl::string_view told, int64_t host_bytes,
                     int64_t device_bytes, const ReconstructOptions& options) const;

 private:
  SearchDevice(std::unique_ptr<ops::Device> host, ops::Device* device)
      : host_(std::move(host)), device_(device) {}

  std::unique_ptr<ops::Device> host_;  // null: the given one
  ops::Device* device_;
};

}  // namespace isocenter::cli
