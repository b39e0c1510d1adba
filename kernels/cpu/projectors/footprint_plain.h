// Footprint projectors for any geometry, voxel by voxel in float64: sources inside the volume,
// detectors whose columns do not follow z.
#pragma once

#include "kernels/cpu/projectors/footprint_view.h"

namespace isocenter::cpu {

/// Adds run.count voxels to the wanted columns of the view's image.
void PlainForward(const FootprintView& view, Footprint footprint, const VoxelRun& run,
                  ColumnRange wanted, const float* voxels);

/// Adds what the voxels see of the view's image to them.
void PlainBack(const FootprintView& view, Footprint footprint, const VoxelRun& run, float* voxels);

}  // namespace isocenter::cpu
