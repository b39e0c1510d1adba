// What a detector's remaining gain errors leave in a finished volume.
#pragma once

#include "absl/status/status.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/ops/registry.h"

namespace isocenter::recon {

/// Between the slices of a volume and the orbit's plane.
inline constexpr double kMostRingTiltDeg = 2;

/// Takes rings (ops::RemoveRings) around the axis of the trajectory through the isocentre off a
/// volume in HU, [z][y][x] of `grid`, in place; of a tilted axis it is where it crosses the middle
/// slice. In as many slices at once as the device has room for, which changes no bit. Errors:
/// INVALID_ARGUMENT (slices across the axis by more than kMostRingTiltDeg, an axis too far away,
/// values that are not finite), NOT_FOUND, RESOURCE_EXHAUSTED.
absl::Status RemoveRings(const Trajectory& trajectory, const VolumeGrid& grid,
                         const ops::Registry& registry, ops::Device& device,
                         HostView3<float> hounsfield);

}  // namespace isocenter::recon
