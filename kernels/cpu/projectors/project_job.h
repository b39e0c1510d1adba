// What the driver of the ray-driven projectors hands to their kernels.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu/projectors/ray_view.h"

namespace isocenter::cpu {

/// Planes that a job goes through before the next ones, at most: so few that what its columns see
/// of them stays in a core's second cache.
inline constexpr int kRunPlanes = 64;

/// Views that a job of either direction goes through with the same columns before the next ones:
/// neighbouring views see nearly the same voxels through them.
inline constexpr int kRayViews = 8;

/// Adds the line integrals of some columns of up to kRayViews views.
struct ForwardJob {
  std::span<const RayView> views;
  const VolumeShape& volume;
  const float* voxels;
  float* stack;
  int first_column, last_column;
};

/// Adds to the planes [first_plane, last_plane) of the volume, perpendicular to `axis`, what all
/// rays with that major axis see of them: up to kRunPlanes.
struct ScatterJob {
  std::span<const RayView> views;  // at least one
  const VolumeShape& volume;
  float* voxels;
  const float* stack;
  int axis, first_plane, last_plane;
};

}  // namespace isocenter::cpu
