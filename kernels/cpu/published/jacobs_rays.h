// The two directions of a detector column, each ray by itself.
#pragma once

#include "kernels/cpu/projectors/ray_view.h"

namespace isocenter::cpu {

void ProjectRays(const RayView& view, int column, const VolumeShape& volume, const float* voxels,
                 float* stack);
void SpreadRays(const RayView& view, int column, const VolumeShape& volume, float* voxels,
                const float* stack, bool alone);

}  // namespace isocenter::cpu
