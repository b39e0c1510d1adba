// Volumes into files, in the format that a file's name asks for.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/formats/meta_image.h"
#include "client/formats/nifti.h"
#include "client/formats/volume.h"

namespace isocenter::formats {

/// Of the names of files that VolumeWriter writes.
inline std::vector<std::string> VolumeEndings() { return {".mha", ".mhd", ".nii", ".nii.gz"}; }

/// What a file's name ends in: one of VolumeEndings, else its last extension.
std::string VolumeEnding(const std::filesystem::path& path);

/// The name of another volume of the same kind: "v.nii.gz" and "-1" become "v-1.nii.gz".
std::filesystem::path WithNameSuffix(const std::filesystem::path& path, absl::string_view suffix);

/// Writes float32 voxels in order, without holding the volume in memory.
class VolumeWriter {
 public:
  /// `facts`: NIfTI has no place for them. Errors: INVALID_ARGUMENT (another ending, an illegal
  /// grid), those of OutputFile.
  static absl::StatusOr<VolumeWriter> Create(const std::filesystem::path& path,
                                             const VolumeGrid& grid, const VolumeFacts& facts = {});
  /// Errors: INVALID_ARGUMENT (more voxels than the grid has), RESOURCE_EXHAUSTED, INTERNAL.
  absl::Status Append(std::span<const float> voxels);
  /// Makes the file visible. Errors: FAILED_PRECONDITION (voxels are missing).
  absl::Status Finish();

 private:
  using AnyWriter = std::variant<MetaImageWriter, NiftiWriter>;
  explicit VolumeWriter(AnyWriter writer) : writer_(std::move(writer)) {}
  AnyWriter writer_;
};

absl::Status WriteVolume(const std::filesystem::path& path, const Volume& volume);

}  // namespace isocenter::formats
