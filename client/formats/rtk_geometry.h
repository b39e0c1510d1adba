// Geometry files of the Reconstruction Toolkit (RTK), version 2 and 3. docs/formats/rtk.md.
#pragma once

#include <filesystem>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/projection_matrix.h"

namespace isocenter::formats {

/// One 3x4 matrix per projection that maps millimetres of our world to millimetres on the
/// projection image. RTK's world has its rotation axis along y; ours is its cyclic permutation (x,
/// y, z) = (z, x, y) of RTK. A <Matrix> wins over the parameters. Errors: NOT_FOUND,
/// INVALID_ARGUMENT (not such a file, a value that is not a number, parallel or cylindrical
/// geometry; the projection is named).
absl::StatusOr<std::vector<ProjectionMatrix>> ReadRtkGeometry(const std::filesystem::path& path);

/// The matrix of one projection from RTK's parameters (mm, radians), in RTK's own world.
struct RtkProjection {
  double source_to_isocenter = 0, source_to_detector = 0;
  double gantry_angle = 0, out_of_plane_angle = 0, in_plane_angle = 0;
  double projection_offset_x = 0, projection_offset_y = 0;
  double source_offset_x = 0, source_offset_y = 0;
};
ProjectionMatrix RtkMatrix(const RtkProjection& projection);

}  // namespace isocenter::formats
