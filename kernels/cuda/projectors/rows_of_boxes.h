// Which rows of a detector a volume of boxes is seen in. No CUDA in it.
#pragma once

#include <span>

#include "kernels/geometry/detector_rows.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cuda {

/// The rows, of `rows`, whose rays cross the box of a voxel of `grid` in any of the views, and a
/// few more; all where a view's source is close to the grid. Of a slab of a volume they are few.
/// `indexed`: voxel indices to pixels (ToVoxelIndices).
RowRange RowsOfBoxes(std::span<const ProjectionMatrix> indexed, const VolumeGrid& grid, int rows);

}  // namespace isocenter::cuda
