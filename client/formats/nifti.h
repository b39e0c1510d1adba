// NIfTI-1 single files (.nii, .nii.gz). docs/formats/nifti.md.
#pragma once

#include <filesystem>

#include "absl/status/statusor.h"
#include "client/formats/volume.h"

namespace isocenter::formats {

/// Reads a three-dimensional NIfTI-1 file, either byte order, rescaled by scl_slope and scl_inter.
/// The grid comes from the sform, else the qform, else the spacing alone; NIfTI's RAS axes become
/// LPS. Errors: NOT_FOUND, INVALID_ARGUMENT (not NIfTI-1, unsupported type, more than one volume, a
/// sheared sform), DATA_LOSS (truncated).
absl::StatusOr<Volume> ReadNifti(const std::filesystem::path& path);

}  // namespace isocenter::formats
