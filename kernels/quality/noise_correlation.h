// How alike the noise of two scans is, also where the one was turned or moved a little.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/quality/noise_power.h"

namespace isocenter::quality {

/// Pearson's correlation of the voxels of a block of the first volume with those of the second,
/// whose block is turned about its middle (degrees, in the slices) and moved (voxels).
struct NoiseCorrelation {
  double value = 0, turn_deg = 0;
  double move_x = 0, move_y = 0, move_z = 0;
};

/// The largest within 2°, one voxel in the slices (in steps of a half) and one slice: beyond, noise
/// of the same frames hardly meets itself. Each slice less its trend. Errors: INVALID_ARGUMENT for
/// a block that is not inside the volumes, or has no noise. Both volumes are on one grid.
absl::StatusOr<NoiseCorrelation> LargestCorrelation(const VolumeView& first,
                                                    const VolumeView& second,
                                                    const NoiseBlock& block);

/// What rings about the world's axis x = y = 0 have of a block's variance, whole ones or arcs: what
/// neighbouring sectors of 30° have in common at one radius. Noise of two sectors is not the same.
/// Errors: as above.
absl::StatusOr<double> RingShare(const VolumeView& volume, const NoiseBlock& block);

}  // namespace isocenter::quality
