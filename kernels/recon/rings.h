// What a detector's remaining gain errors leave in a finished volume.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/ops/registry.h"

namespace isocenter::recon {

/// Between the slices of a volume and the orbit's plane.
inline constexpr double kMostRingTiltDeg = 2;

/// What was taken off a volume, in HU: root mean square of all voxels, and the most of one.
struct RingsTakenOff {
  double rms_hu = 0, most_hu = 0;
};
std::string ToText(const RingsTakenOff& rings);

/// Takes rings (ops::RemoveRings) around the axis of the trajectory through the isocentre off a
/// volume in HU, [z][y][x] of `grid`, in place; of a tilted axis it is where it crosses the middle
/// slice. In as many slices at once as the device has room for, which changes no bit. Errors:
/// INVALID_ARGUMENT (slices across the axis by more than kMostRingTiltDeg, an axis too far away,
/// values that are not finite), NOT_FOUND, RESOURCE_EXHAUSTED.
absl::StatusOr<RingsTakenOff> RemoveRings(const Trajectory& trajectory, const VolumeGrid& grid,
                                          const ops::Registry& registry, ops::Device& device,
                                          HostView3<float> hounsfield);

}  // namespace isocenter::recon
