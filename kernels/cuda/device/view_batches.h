// How a run of views is divided between the launches of a back-projection. No CUDA in it.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cuda {

/// ToVoxelIndices of each.
std::vector<ProjectionMatrix> IndexedMatrices(std::span<const ProjectionMatrix> world,
                                              const VolumeGrid& grid);

/// Voxel indices to detector pixels, float32, one per view of a launch.
template <int kViews>
struct ViewMatrices {
  float m[kViews][12];
};

/// At most kViews matrices from voxel indices to pixels (ToVoxelIndices). The places that are left
/// get one that maps every voxel to pixel (-2, -2) with w = 1, where a sample is zero: a loop that
/// is unrolled for kViews adds nothing for them and needs no test.
template <int kViews>
ViewMatrices<kViews> PaddedMatrices(std::span<const ProjectionMatrix> indexed) {
  constexpr float kSeesNothing[12] = {0, 0, 0, -2, 0, 0, 0, -2, 0, 0, 0, 1};
  ViewMatrices<kViews> matrices;
  for (size_t i = 0; i < kViews; ++i) {
    if (i < indexed.size()) {
      std::copy(indexed[i].m.begin(), indexed[i].m.end(), matrices.m[i]);
    } else {
      std::copy(std::begin(kSeesNothing), std::end(kSeesNothing), matrices.m[i]);
    }
  }
  return matrices;
}

/// Consecutive views that one launch adds.
struct ViewBatch {
  int first, views;
  bool near;  // one view, from whose source some voxel is not deeper than the least depth
  friend bool operator==(const ViewBatch&, const ViewBatch&) = default;
};

/// All views in their order, in batches of at most `most_views`. `indexed`: voxel indices of `grid`
/// to pixels. Whether a view is near depends on nothing but its matrix, the grid and `least_depth`
/// (w; 1 at the isocentre), so a view is computed in the same way however views are divided between
/// calls.
std::vector<ViewBatch> BatchesOf(std::span<const ProjectionMatrix> indexed, const VolumeGrid& grid,
                                 int most_views, double least_depth);

}  // namespace isocenter::cuda
