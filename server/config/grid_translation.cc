#include "server/config/grid_translation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::config {

absl::StatusOr<VolumeGrid> GridFromProto(const v1::VolumeGrid& grid) {
  const uint32_t counts[] = {grid.nx(), grid.ny(), grid.nz()};
  const char* names[] = {"nx", "ny", "nz"};
  for (int axis = 0; axis < 3; ++axis) {
    if (counts[axis] < 1 || counts[axis] > 4096) {
      return absl::InvalidArgumentError(
          absl::StrCat("grid.", names[axis], " is ", counts[axis], "; legal is 1 to 4096"));
    }
  }
  VolumeGrid result{.nx = static_cast<int>(grid.nx()),
                    .ny = static_cast<int>(grid.ny()),
                    .nz = static_cast<int>(grid.nz())};
  result.spacing = {grid.spacing_x_mm(), grid.spacing_y_mm(), grid.spacing_z_mm()};
  result.origin = {grid.origin_x_mm(), grid.origin_y_mm(), grid.origin_z_mm()};
  if (grid.direction_size() != 0) {
    if (grid.direction_size() != 9) {
      return absl::InvalidArgumentError(absl::StrCat("grid.direction has ", grid.direction_size(),
                                                     " values; legal is 9, or 0 for identity"));
    }
    std::copy(grid.direction().begin(), grid.direction().end(), result.direction.begin());
  }
  if (grid.centered()) {
    if (!(result.origin == Vec3{})) {
      return absl::InvalidArgumentError(
          absl::StrCat("grid.origin is (", grid.origin_x_mm(), ", ", grid.origin_y_mm(), ", ",
                       grid.origin_z_mm(), ") mm; legal is unset when grid.centered is true"));
    }
    result.origin =
        -result.VoxelToWorld(0.5 * (result.nx - 1), 0.5 * (result.ny - 1), 0.5 * (result.nz - 1));
  }
  ISO_RETURN_IF_ERROR(ValidateGrid(result));
  return result;
}

v1::VolumeGrid GridToProto(const VolumeGrid& grid) {
  v1::VolumeGrid proto;
  proto.set_nx(grid.nx);
  proto.set_ny(grid.ny);
  proto.set_nz(grid.nz);
  proto.set_spacing_x_mm(grid.spacing.x);
  proto.set_spacing_y_mm(grid.spacing.y);
  proto.set_spacing_z_mm(grid.spacing.z);
  proto.set_origin_x_mm(grid.origin.x);
  proto.set_origin_y_mm(grid.origin.y);
  proto.set_origin_z_mm(grid.origin.z);
  proto.mutable_direction()->Add(grid.direction.begin(), grid.direction.end());
  return proto;
}

}  // namespace isocenter::config
