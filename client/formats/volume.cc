#include "client/formats/volume.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace isocenter::formats {

absl::StatusOr<Volume> WithRightHandedGrid(Volume volume, const std::string& where) {
  VolumeGrid& grid = volume.grid;
  auto& d = grid.direction;
  const double determinant = Dot(Cross({d[0], d[3], d[6]}, {d[1], d[4], d[7]}), {d[2], d[5], d[8]});
  if (determinant < 0) {
    grid.origin = grid.VoxelToWorld(0, 0, grid.nz - 1);
    for (const int i : {2, 5, 8}) d[i] = -d[i];
    const int64_t slice = int64_t{grid.nx} * grid.ny;
    for (int64_t low = 0, high = grid.nz - 1; low < high; ++low, --high) {
      std::swap_ranges(volume.voxels.begin() + low * slice,
                       volume.voxels.begin() + (low + 1) * slice,
                       volume.voxels.begin() + high * slice);
    }
  }
  if (absl::Status status = ValidateGrid(grid); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": ", status.message()));
  }
  return volume;
}

void CenterAtIsocenter(VolumeGrid& grid) {
  const Vec3 middle =
      grid.VoxelToWorld(0.5 * (grid.nx - 1), 0.5 * (grid.ny - 1), 0.5 * (grid.nz - 1));
  grid.origin = grid.origin - middle;
}

absl::StatusOr<int64_t> CheckedVoxelCount(int64_t nx, int64_t ny, int64_t nz,
                                          const std::string& where) {
  for (const int64_t n : {nx, ny, nz}) {
    if (n < 1 || n > 4096) {
      return absl::InvalidArgumentError(absl::StrCat(where, ": size is ", nx, " x ", ny, " x ", nz,
                                                     "; legal is 1 to 4096 along each axis"));
    }
  }
  return nx * ny * nz;
}

}  // namespace isocenter::formats
