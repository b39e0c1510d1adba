// What a start that failed says besides why: which field it is about, and what to do.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace isocenter::daemon {

/// Of a directory of the configuration that could not be opened: "archive_directory is PATH; WHY",
/// and what is legal where the system refused.
absl::Status OfDirectory(absl::string_view field, const std::string& path, const absl::Status& why);

/// Of an address that could not be listened on, with what to do about it.
absl::Status OfAddress(const absl::Status& why);

}  // namespace isocenter::daemon
