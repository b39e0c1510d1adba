// The end of a command that tells of several places, not all of which could be asked.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace isocenter::flags {

/// The command has told what it could learn, which is not all that was asked: exit code 3.
/// UNAVAILABLE.
absl::Status Incomplete(absl::string_view message);

}  // namespace isocenter::flags
