// The rays of a view in voxel indices, in float64 on the host. No CUDA in it.
#pragma once

#include <span>
#include <vector>

#include "kernels/base/views.h"
#include "kernels/cuda/device/view_batches.h"
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

/// The components, for a kernel.
template <class Real>
void Assign(Vec3 from, Real (&to)[3]) {
  to[0] = static_cast<Real>(from.x);
  to[1] = static_cast<Real>(from.y);
  to[2] = static_cast<Real>(from.z);
}

/// Those of a matrix from voxel indices to pixels (ToVoxelIndices).
Rays RaysOf(const ProjectionMatrix& indexed);

/// What w changes from a voxel's centre to a corner of its box, at most.
double HalfDepthOfVoxel(const ProjectionMatrix& indexed);

/// `indexed` with voxel indices counted from the grid's middle and pixels from the detector's,
/// which has the rows and columns of `stack`: numbers are small where float32 holds them.
ProjectionMatrix Centered(const ProjectionMatrix& indexed, const VolumeGrid& grid,
                          const Shape3& stack);

/// BatchesOf for models of voxels as boxes: a view is near where some corner of a voxel is not
/// deeper than `least_depth`.
std::vector<ViewBatch> BoxBatchesOf(std::span<const ProjectionMatrix> indexed,
                                    const VolumeGrid& grid, int most_views, double least_depth);

/// What one voxel along z moves on the detector, at the grid's middle, is more of v than of u.
/// `centered` as above.
bool ZFollowsRows(const ProjectionMatrix& centered);

/// Whether the rays of a detector column cross the grid's (x, y) faces at the same w, as far as
/// float32 can tell, and are nowhere steeper than one voxel along z per voxel along x or y: what
/// Thompson & Lionheart (2014) build on. `stack` has the detector's rows and columns.
bool ColumnsShareCrossings(const ProjectionMatrix& centered, const VolumeGrid& grid,
                           const Shape3& stack);

}  // namespace isocenter::cuda
