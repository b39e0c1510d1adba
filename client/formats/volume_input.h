// Any volume that the command line accepts, by its name.
#pragma once

#include <filesystem>
#include <optional>

#include "absl/status/statusor.h"
#include "client/formats/raw_volume.h"
#include "client/formats/volume.h"

namespace isocenter::formats {

/// .mha, .mhd, .nii, .nii.gz, a directory (DICOM CT series), or .raw with `raw_layout`. Errors:
/// those of the readers; INVALID_ARGUMENT for other names, listing these.
absl::StatusOr<Volume> ReadVolume(const std::filesystem::path& path,
                                  const std::optional<RawLayout>& raw_layout = std::nullopt);

}  // namespace isocenter::formats
