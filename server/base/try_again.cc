#include "server/base/try_again.h"

#include <string>

#include "absl/strings/cord.h"

namespace isocenter {
namespace {

constexpr char kPayload[] = "isocenter/try-again";  // the time; empty: nobody knows it

}  // namespace

absl::Status FullForNow(absl::string_view message) {
  absl::Status status = absl::ResourceExhaustedError(message);
  status.SetPayload(kPayload, absl::Cord());
  return status;
}

absl::Status WithRetryAfter(absl::Status status, absl::Duration duration) {
  status.SetPayload(kPayload, absl::Cord(absl::FormatDuration(duration)));
  return status;
}

bool MayTryAgain(const absl::Status& status) { return status.GetPayload(kPayload).has_value(); }

std::optional<absl::Duration> RetryAfter(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  absl::Duration duration;
  if (!payload.has_value() || !absl::ParseDuration(std::string(*payload), &duration)) {
    return std::nullopt;
  }
  return duration;
}

}  // namespace isocenter
