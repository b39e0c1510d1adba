// Directories of the archive: made, listed, renamed and removed, with storage::FileError on
// failure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace isocenter::archive {

/// Makes a directory for this user only; one that exists is taken as it is. FAILED_PRECONDITION: a
/// file is in its place.
absl::Status MakeDirectory(const std::filesystem::path& path);
/// What is directly in a directory, in no order.
absl::StatusOr<std::vector<std::filesystem::path>> Entries(const std::filesystem::path& directory);
/// Files in a directory and all below it; -1 when it cannot be read.
int64_t CountFiles(const std::filesystem::path& directory);
absl::Status Rename(const std::filesystem::path& from, const std::filesystem::path& to);
/// With all that is in it; what does not exist is removed already.
absl::Status RemoveAll(const std::filesystem::path& path);

}  // namespace isocenter::archive
