#include "client/formats/volume_writer.h"

#include "kernels/base/status_macros.h"

namespace isocenter::formats {

absl::StatusOr<VolumeWriter> VolumeWriter::Create(const std::filesystem::path& path,
                                                  const VolumeGrid& grid) {
  if (path.extension() == ".nii") {
    ISO_ASSIGN_OR_RETURN(NiftiWriter writer, NiftiWriter::Create(path, grid));
    return VolumeWriter(std::move(writer));
  }
  ISO_ASSIGN_OR_RETURN(MetaImageWriter writer, MetaImageWriter::Create(path, grid));
  return VolumeWriter(std::move(writer));
}

absl::Status VolumeWriter::Append(std::span<const float> voxels) {
  return std::visit([voxels](auto& writer) { return writer.Append(voxels); }, writer_);
}

absl::Status VolumeWriter::Finish() {
  return std::visit([](auto& writer) { return writer.Finish(); }, writer_);
}

absl::Status WriteVolume(const std::filesystem::path& path, const Volume& volume) {
  ISO_ASSIGN_OR_RETURN(VolumeWriter writer, VolumeWriter::Create(path, volume.grid));
  ISO_RETURN_IF_ERROR(writer.Append(volume.voxels));
  return writer.Finish();
}

}  // namespace isocenter::formats
