// Refusals that pass: what is refused now may be taken later, without any change of the request.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace isocenter {

/// RESOURCE_EXHAUSTED of what others hold and give back; `message` says on what to wait ("try again
/// when .."). What will never fit has the same code without this mark. Adapters translate the mark
/// at their border.
absl::Status FullForNow(absl::string_view message);

/// `status`, which is an error, as one that passes after so long.
absl::Status WithRetryAfter(absl::Status status, absl::Duration duration);

/// Whether one of these has made it.
bool MayTryAgain(const absl::Status& status);

/// When, where WithRetryAfter has said so.
std::optional<absl::Duration> RetryAfter(const absl::Status& status);

}  // namespace isocenter
