// The end of a command whose flags cannot mean anything together.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace isocenter::flags {

/// The command line is wrong in what the parser cannot see, e.g. a flag that needs another one:
/// exit code 2. To be found before any work. INVALID_ARGUMENT.
absl::Status WrongUsage(absl::string_view message);

}  // namespace isocenter::flags
