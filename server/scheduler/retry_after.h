// When a refused request could succeed, carried by the refusal.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace isocenter::scheduler {

/// `status`, which is an error, with the time after which to try again in its payload. Adapters
/// translate it at their border.
absl::Status WithRetryAfter(absl::Status status, absl::Duration duration);
/// Of a status that WithRetryAfter has made.
std::optional<absl::Duration> RetryAfter(const absl::Status& status);

}  // namespace isocenter::scheduler
