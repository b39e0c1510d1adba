// What the driver of the ray-driven projectors hands to their kernels.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu/ray_view.h"

namespace isocenter::cpu {

/// Planes that forward projection goes through before the next columns: so few that what a task's
/// columns see of them stays in a core's second cache.
inline constexpr int kForwardPlanes = 64;

/// Adds the line integrals of some columns of one view.
struct ForwardJob {
  const RayView& view;
  const VolumeShape& volume;
  const float* voxels;
  float* stack;
  int first_column, last_column;
};

/// Adds to the planes [first_plane, last_plane) of the volume, perpendicular to `axis`, what all
/// rays with that major axis see of them.
struct ScatterJob {
  std::span<const RayView> views;
  const VolumeShape& volume;
  float* voxels;
  const float* stack;
  int axis, first_plane, last_plane;
  float* cells;  // kMaxCells · kCellFloats + kCellMargin (cell_tile.h)
};

}  // namespace isocenter::cpu
