// Headerless voxel files.
#pragma once

#include <filesystem>

#include "absl/status/statusor.h"
#include "client/formats/element_type.h"
#include "client/formats/volume.h"

namespace isocenter::formats {

/// What a raw file does not say of itself.
struct RawLayout {
  int nx = 0, ny = 0, nz = 0;
  Vec3 spacing{1, 1, 1};  // mm
  ElementType type = ElementType::kInt16;
};

/// Little-endian voxels [z][y][x] in HU; the grid is centred at the isocentre. Errors: NOT_FOUND,
/// INVALID_ARGUMENT (the file's size is not that of the layout; both are named).
absl::StatusOr<Volume> ReadRawVolume(const std::filesystem::path& path, const RawLayout& layout);

}  // namespace isocenter::formats
