#include "server/scheduler/retry_after.h"

#include <string>

#include "absl/strings/cord.h"

namespace isocenter::scheduler {
namespace {

constexpr char kPayload[] = "isocenter/retry-after";

}  // namespace

absl::Status WithRetryAfter(absl::Status status, absl::Duration duration) {
  status.SetPayload(kPayload, absl::Cord(absl::FormatDuration(duration)));
  return status;
}

std::optional<absl::Duration> RetryAfter(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  absl::Duration duration;
  if (!payload.has_value() || !absl::ParseDuration(std::string(*payload), &duration)) {
    return std::nullopt;
  }
  return duration;
}

}  // namespace isocenter::scheduler
