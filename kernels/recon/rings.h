// What a detector's remaining gain errors leave in a finished volume.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/acquisition.h"

namespace isocenter::recon {

/// Between the slices of a volume and the orbit's plane.
inline constexpr double kMostRingTiltDeg = 2;

/// Spacing of the voxels in a slice, of which ops::RemoveRings looks at three on either side. Where
/// they are wider, that is more than a skull's wall: what is round about the axis goes with the
/// rings (a head without any lost 46 HU RMS, 290 HU at most, to voxels of 1.4 mm; 10 HU to 1.17
/// mm). In pixels at the isocentre, beyond which less than a fifth of the rings is found
/// (docs/second-pass.md).
inline constexpr double kMostRingVoxelMm = 1.2, kMostRingVoxelPixels = 2;

/// Errors: INVALID_ARGUMENT (voxels of more than kMostRingVoxelMm).
absl::Status CheckRingVoxels(const VolumeGrid& grid);
/// That the voxels are too wide for the rings of the acquisition's pixels; nothing where they are
/// not.
std::optional<std::string> CoarseRingsText(const Acquisition& acquisition, const VolumeGrid& grid);

/// What was taken off a volume, in HU: root mean square of all voxels, and the most of one.
struct RingsTakenOff {
  double rms_hu = 0, most_hu = 0;
};
std::string ToText(const RingsTakenOff& rings);

/// Takes rings (ops::RemoveRings) around the axis of the trajectory through the isocentre off a
/// volume in HU, [z][y][x] of `grid`, in place; of a tilted axis it is where it crosses the middle
/// slice. In as many slices at once as the device has room for, which changes no bit. Errors:
/// INVALID_ARGUMENT (CheckRingVoxels, slices across the axis by more than kMostRingTiltDeg, an axis
/// too far away, values that are not finite), NOT_FOUND, RESOURCE_EXHAUSTED.
absl::StatusOr<RingsTakenOff> RemoveRings(const Trajectory& trajectory, const VolumeGrid& grid,
                                          const ops::Registry& registry, ops::Device& device,
                                          HostView3<float> hounsfield);

}  // namespace isocenter::recon
