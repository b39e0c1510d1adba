// When the service last ended because no device was left. Only a new process can use devices again,
// and the old one ends before anybody has read its metrics: so the new one tells.
#pragma once

#include <filesystem>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace isocenter::daemon {

/// Writes it into the archive's directory. A failure goes to the log: the service ends anyway.
void RecordNoDevice(const std::filesystem::path& archive_directory, absl::Time when);

/// Seconds since 1970; 0: never. Errors: INTERNAL (what is there is no time).
absl::StatusOr<double> LastTimeWithoutDevice(const std::filesystem::path& archive_directory);

}  // namespace isocenter::daemon
