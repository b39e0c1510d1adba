#include "client/formats/raw_volume.h"

#include <vector>

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
  volume.voxels.resize(volume.grid.voxels());
  const int64_t slice_voxels = int64_t{layout.nx} * layout.ny;
  std::vector<std::byte> slice(slice_voxels * ElementBytes(layout.type));
  for (int64_t k = 0; k < layout.nz; ++k) {
    ISO_RETURN_IF_ERROR(file.ReadAt(k * slice.size(), slice));
    ToFloat(slice, layout.type, /*big_endian=*/false, 1, 0,
            std::span(volume.voxels).subspan(k * slice_voxels, slice_voxels));
  }
  return volume;
}

}  // namespace isocenter::formats
