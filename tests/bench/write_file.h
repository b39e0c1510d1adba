// Reports as files.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace isocenter::bench {

/// Errors: UNAVAILABLE (cannot be written).
absl::Status WriteFile(const std::string& path, const std::string& text);

}  // namespace isocenter::bench
