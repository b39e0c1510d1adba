// Events as JSON objects, and back. docs/audit.md describes their members.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/audit/event.h"

namespace isocenter::audit {

/// An object in one line. Texts of the event are legal (text.h).
std::string ToJson(const Event& event);

/// What an object says, as far as it is known here. Errors: INVALID_ARGUMENT (it is no record).
absl::StatusOr<Event> FromJson(absl::string_view text);

}  // namespace isocenter::audit
