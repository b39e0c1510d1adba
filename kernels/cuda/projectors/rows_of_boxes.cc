#include "kernels/cuda/projectors/rows_of_boxes.h"

namespace isocenter::cuda {

RowRange RowsOfBoxes(std::span<const ProjectionMatrix> indexed, const VolumeGrid& grid, int rows) {
  // Points at the corners of all boxes, in voxel indices.
  VolumeGrid corners;
  corners.nx = grid.nx + 1;
  corners.ny = grid.ny + 1;
  corners.nz = grid.nz + 1;
  corners.spacing = {1, 1, 1};
  corners.origin = {-0.5, -0.5, -0.5};
  return RowsSeen(indexed, corners, rows);
}

}  // namespace isocenter::cuda
