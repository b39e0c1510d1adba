// The one error after which a device is no use any more: every later call on it fails.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace isocenter::ops {

/// INTERNAL, marked so that IsDeviceLost knows it wherever it travels. `what` names the backend's
/// error. Nothing that is in the device's memory can be had back; a new session does not help.
absl::Status DeviceLostError(absl::string_view what);

bool IsDeviceLost(const absl::Status& status);

}  // namespace isocenter::ops
