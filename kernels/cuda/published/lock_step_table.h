// The table of Thompson & Lionheart (MIMS EPrint 2016.48, 2014): where the rays of each detector
// column of a view cross x and y faces, and which columns of voxels they go through. Made on the
// host. No CUDA in it.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/views.h"
#include "kernels/cuda/projectors/rays.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cuda {

/// A step of a detector column's rays: through a column of voxels from w = 1 + from to 1 + to.
struct LockStep {
  float from, to;
  int32_t column;  // y · nx + x
};

/// Steps of a detector column, at most.
inline int64_t MostLockSteps(const VolumeGrid& grid) { return int64_t{grid.nx} + grid.ny; }

/// Fills `steps` [column][MostLockSteps] and `counts` [column] for the detector of `stack` {-,
/// rows, columns}. `rays` are those of a matrix as Centered makes them, whose columns share their
/// crossings (ColumnsShareCrossings).
void MakeLockSteps(const Rays& rays, const VolumeGrid& grid, const Shape3& stack,
                   std::span<LockStep> steps, std::span<int32_t> counts);

}  // namespace isocenter::cuda
