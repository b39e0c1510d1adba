// How many updates a projection by Siddon's lengths is.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/thread_pool.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::bench {

/// Pairs of a ray and a voxel that it has a length in, of all pixels of all views: one more than
/// the faces between voxels that a ray crosses. A ray through an edge, which crosses two faces at
/// once, counts a voxel too many.
int64_t CountSiddonUpdates(std::span<const ProjectionMatrix> views, const VolumeGrid& grid,
                           const Detector& detector, ThreadPool& pool);

}  // namespace isocenter::bench
