#include "client/formats/raw_volume.h"

#include "absl/strings/str_cat.h"
#include "client/formats/file.h"
#include "kernels/base/status_macros.h"

namespace isocenter::formats {

absl::StatusOr<Volume> ReadRawVolume(const std::filesystem::path& path, const RawLayout& layout) {
  Volume volume{.grid = CenteredGrid(layout.nx, layout.ny, layout.nz, layout.spacing)};
  ISO_RETURN_IF_ERROR(ValidateGrid(volume.grid));
  ISO_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  const uint64_t expected = uint64_t(volume.grid.voxels()) * ElementBytes(layout.type);
  if (file.size() != expected) {
    return absl::InvalidArgumentError(absl::StrCat(
        file.name(), " has ", file.size(), " bytes, but ", layout.nx, " x ", layout.ny, " x ",
        layout.nz, " voxels of ", ElementBytes(layout.type), " bytes are ", expected));
  }
  ISO_ASSIGN_OR_RETURN(
      volume.voxels, ReadVoxels(file.name(), volume.grid.voxels(), {.type = layout.type},
                                file.size(), [&file](uint64_t offset, std::span<std::byte> bytes) {
                                  return file.ReadAt(offset, bytes);
                                }));
  return volume;
}

}  // namespace isocenter::formats
