#include "kernels/ops/device_lost.h"

#include "absl/strings/cord.h"

namespace isocenter::ops {
namespace {

constexpr char kTypeUrl[] = "type.isocenter/device_lost";

}  // namespace

absl::Status DeviceLostError(absl::string_view what) {
  absl::Status status = absl::InternalError(what);
  status.SetPayload(kTypeUrl, absl::Cord());
  return status;
}

bool IsDeviceLost(const absl::Status& status) { return status.GetPayload(kTypeUrl).has_value(); }

}  // namespace isocenter::ops
