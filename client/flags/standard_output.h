// Standard output as what it is for scripts: a result.
#pragma once

#include "absl/status/status.h"

namespace isocenter::flags {

/// Whether all that was printed has gone where it should: a full disk or a closed pipe there must
/// not look like success. Errors: RESOURCE_EXHAUSTED.
absl::Status FlushStandardOutput();

}  // namespace isocenter::flags
