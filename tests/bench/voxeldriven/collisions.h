// How often threads of a voxel-driven forward projection add to the same pixel: the ΔN analysis of
// Du, Yu, Xiang, Wang, BioMed. Eng. OnLine 16 (2017) 2.
#pragma once

#include "kernels/geometry/detector.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::bench {

/// Which plane of voxels the threads of a block are: perpendicular to z, y or x.
enum class ThreadPlane { kAxial, kCoronal, kSagittal };

struct Collisions {
  double share = 0;  // of threads whose pixel another thread of their block has before them
  double apart = 0;  // pixels between neighbours along a block's rows and columns, mean: ΔN
};

/// Of blocks of 32 x 8 voxels that are spread over the grid, one in `every` along each axis, and
/// the first of the four pixels that a voxel adds to. Voxels beside the detector do not count.
Collisions CountCollisions(const ProjectionMatrix& view, const VolumeGrid& grid,
                           const Detector& detector, ThreadPlane plane, int every);

}  // namespace isocenter::bench
