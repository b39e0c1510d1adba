// What is known beforehand of bodies, for a model of what a detector does not see of one.
#pragma once

#include "kernels/base/thread_pool.h"
#include "kernels/base/views.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::recon {

/// Bodies are mostly soft tissue, and nothing is around them: where a voxel [z][y][x], in HU, is
/// nearly either of them, it comes nearer. Lungs, fat between organs and bone stay; so does air
/// within `known_radius_mm` of the axis through the isocentre along z, which rays tell.
void LeanToTissue(const VolumeGrid& grid, double known_radius_mm, ThreadPool& threads,
                  HostView3<float> volume);

/// What a model begins with: no voxel is less than air or more than dense bone, and nothing is
/// beyond `radius_mm`, in HU.
void Bound(const VolumeGrid& grid, double radius_mm, ThreadPool& threads, HostView3<float> volume);

}  // namespace isocenter::recon
