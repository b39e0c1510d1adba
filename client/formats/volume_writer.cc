#include "client/formats/volume_writer.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::formats {

std::string VolumeEnding(const std::filesystem::path& path) {
  const std::string last = path.extension().string();
  return last == ".gz" && path.stem().extension() == ".nii" ? ".nii.gz" : last;
}

std::filesystem::path WithNameSuffix(const std::filesystem::path& path, absl::string_view suffix) {
  const std::string ending = VolumeEnding(path), name = path.filename().string();
  return path.parent_path() /
         absl::StrCat(name.substr(0, name.size() - ending.size()), suffix, ending);
}

absl::StatusOr<VolumeWriter> VolumeWriter::Create(const std::filesystem::path& path,
                                                  const VolumeGrid& grid,
                                                  const VolumeFacts& facts) {
  if (const std::string ending = VolumeEnding(path); ending == ".nii" || ending == ".nii.gz") {
    ISO_ASSIGN_OR_RETURN(NiftiWriter writer, NiftiWriter::Create(path, grid));
    return VolumeWriter(std::move(writer));
  }
  ISO_ASSIGN_OR_RETURN(MetaImageWriter writer, MetaImageWriter::Create(path, grid, facts));
  return VolumeWriter(std::move(writer));
}

absl::Status VolumeWriter::Append(std::span<const float> voxels) {
  return std::visit([voxels](auto& writer) { return writer.Append(voxels); }, writer_);
}

absl::Status VolumeWriter::Finish() {
  return std::visit([](auto& writer) { return writer.Finish(); }, writer_);
}

absl::Status WriteVolume(const std::filesystem::path& path, const Volume& volume) {
  ISO_ASSIGN_OR_RETURN(VolumeWriter writer, VolumeWriter::Create(path, volume.grid, volume.facts));
  ISO_RETURN_IF_ERROR(writer.Append(volume.voxels));
  return writer.Finish();
}

}  // namespace isocenter::formats
