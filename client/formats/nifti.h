// NIfTI-1 single files (.nii, .nii.gz). docs/formats/nifti.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/formats/file.h"
#include "client/formats/gzip/gzip_file.h"
#include "client/formats/volume.h"

namespace isocenter::formats {

/// Reads a three-dimensional NIfTI-1 file, either byte order, rescaled by scl_slope and scl_inter.
/// The grid comes from the sform, else the qform, else the spacing alone; NIfTI's RAS axes become
/// LPS. Errors: NOT_FOUND, INVALID_ARGUMENT (not NIfTI-1, unsupported type, more than one volume, a
/// sheared sform), DATA_LOSS (truncated, compressed data that are damaged or have another
/// checksum), RESOURCE_EXHAUSTED (more voxels than memory).
absl::StatusOr<Volume> ReadNifti(const std::filesystem::path& path);

/// Writes float32 voxels in order into a .nii, or compressed by gzip into a .nii.gz, without
/// holding the volume in memory. The grid becomes the sform, of scanner coordinates, in NIfTI's RAS
/// axes.
class NiftiWriter {
 public:
  /// Errors: INVALID_ARGUMENT (an illegal grid), those of OutputFile.
  static absl::StatusOr<NiftiWriter> Create(const std::filesystem::path& path,
                                            const VolumeGrid& grid);
  /// Errors: INVALID_ARGUMENT (more voxels than the grid has), RESOURCE_EXHAUSTED, INTERNAL.
  absl::Status Append(std::span<const float> voxels);
  /// Makes the file visible. Errors: FAILED_PRECONDITION (voxels are missing).
  absl::Status Finish();

 private:
  using AnyFile = std::variant<OutputFile, GzipFile>;
  NiftiWriter(AnyFile file, int64_t missing) : file_(std::move(file)), missing_(missing) {}

  AnyFile file_;
  int64_t missing_;
};

}  // namespace isocenter::formats
