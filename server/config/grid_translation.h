// Volume grids as they are written on the wire and in the configuration.
#pragma once

#include "absl/status/statusor.h"
#include "isocenter/v1/geometry.pb.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::config {

/// Errors: INVALID_ARGUMENT naming the field, its value and what is legal.
absl::StatusOr<VolumeGrid> GridFromProto(const v1::VolumeGrid& grid);
v1::VolumeGrid GridToProto(const VolumeGrid& grid);

}  // namespace isocenter::config
