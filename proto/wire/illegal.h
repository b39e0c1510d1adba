// How a field of a message is refused.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace isocenter::wire {

/// INVALID_ARGUMENT, "field is value; legal is legal".
absl::Status Illegal(absl::string_view field, absl::string_view value, absl::string_view legal);

}  // namespace isocenter::wire
