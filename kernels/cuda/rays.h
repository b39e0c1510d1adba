// The rays of a view in voxel indices, in float64 on the host. No CUDA in it.
#pragma once

#include <span>
#include <vector>

#include "kernels/cuda/view_batches.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cuda {

/// Pixel (u, v) sees the points source + w · At(u, v), w > 0 (kernels/ops/projector.h), in voxel
/// indices of a grid.
struct Rays {
  Vec3 source;
  Vec3 base, per_column, per_row;
  Vec3 At(double u, double v) const { return base + u * per_column + v * per_row; }
};

/// Those of a matrix from voxel indices to pixels (ToVoxelIndices).
Rays RaysOf(const ProjectionMatrix& indexed);

/// BatchesOf for models of voxels as boxes: a view is near where some corner of a voxel is not
/// deeper than `least_depth`.
std::vector<ViewBatch> BoxBatchesOf(std::span<const ProjectionMatrix> indexed,
                                    const VolumeGrid& grid, int most_views, double least_depth);

/// What the grid's z axis moves on the detector at the grid's middle, per voxel, is more of v than
/// of u.
bool AxisFollowsRows(const ProjectionMatrix& indexed, const VolumeGrid& grid);

}  // namespace isocenter::cuda
