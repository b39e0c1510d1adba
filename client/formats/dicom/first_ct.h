// One image of a CT series, for what all of its images tell alike.
#pragma once

#include <dcmtk/config/osconfig.h>
//
#include <dcmtk/dcmdata/dctk.h>

#include <filesystem>

#include "absl/status/status.h"

namespace isocenter::formats {

/// Loads the first CT slice of a directory by name. Errors: NOT_FOUND, those of reading files.
absl::Status LoadFirstCt(const std::filesystem::path& directory, DcmFileFormat& format);

}  // namespace isocenter::formats
