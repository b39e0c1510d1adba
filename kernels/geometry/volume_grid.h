// The regular grid of voxels that a reconstruction fills.
#pragma once

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "kernels/base/views.h"
#include "kernels/geometry/vec3.h"

namespace isocenter {

/// Volume[z][y][x], x fastest. Voxel (i,j,k) has its centre at
/// origin + direction · (i·spacing.x, j·spacing.y, k·spacing.z), in world millimetres.
struct VolumeGrid {
  int nx = 0, ny = 0, nz = 0;
  Vec3 spacing{1, 1, 1};  // mm
  Vec3 origin;            // mm, centre of voxel (0,0,0)
  /// Row-major 3x3; its columns are the unit vectors of the index axes.
  std::array<double, 9> direction{1, 0, 0, 0, 1, 0, 0, 0, 1};

  int64_t voxels() const { return int64_t{nx} * ny * nz; }
  Shape3 shape() const { return {nz, ny, nx}; }
  Vec3 VoxelToWorld(double i, double j, double k) const;
  Vec3 WorldToVoxel(Vec3 world) const;
  friend bool operator==(const VolumeGrid&, const VolumeGrid&) = default;
};

/// A grid whose middle is at the isocentre and whose axes are the world's. `spacing` in mm.
VolumeGrid CenteredGrid(int nx, int ny, int nz, Vec3 spacing);

/// INVALID_ARGUMENT, naming the field: counts outside 1..4096, spacing outside 0.0001..100 mm, an
/// origin that is not finite or more than 10 m away, direction that is not a rotation
/// (right-handed, orthonormal to 1e-4).
absl::Status ValidateGrid(const VolumeGrid& grid);

}  // namespace isocenter
