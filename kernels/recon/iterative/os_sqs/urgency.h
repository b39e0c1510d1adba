// Which voxels still have far to go.
#pragma once

#include "kernels/recon/iterative/piecewise_variation.h"

namespace isocenter::recon {

/// Turns how far voxels have moved, `moved`, whose Σ of squares is `squared_distance`, into their
/// urgency u in [1, 3]: 1 where nothing has moved, 3 where a voxel has moved as far as the root
/// mean square or further, smoothed over neighbours. `scratch` is overwritten.
absl::Status ToUrgency(LinearSystem& system, PiecewiseVariation& variation, double squared_distance,
                       VolumeVector& moved, VolumeVector& scratch);

}  // namespace isocenter::recon
