#include "kernels/cuda/device/view_batches.h"

namespace isocenter::cuda {
namespace {

// w is affine in the indices, so each axis takes its least share at one of its ends.
double LeastDepth(const ProjectionMatrix& indexed, const VolumeGrid& grid) {
  return indexed(2, 3) + std::min(0., indexed(2, 0) * (grid.nx - 1)) +
         std::min(0., indexed(2, 1) * (grid.ny - 1)) + std::min(0., indexed(2, 2) * (grid.nz - 1));
}

}  // namespace

std::vector<ProjectionMatrix> IndexedMatrices(std::span<const ProjectionMatrix> world,
                                              const VolumeGrid& grid) {
  std::vector<ProjectionMatrix> indexed;
  indexed.reserve(world.size());
  for (const ProjectionMatrix& matrix : world) indexed.push_back(ToVoxelIndices(matrix, grid));
  return indexed;
}

std::vector<ViewBatch> BatchesOf(std::span<const ProjectionMatrix> indexed, const VolumeGrid& grid,
                                 int most_views, double least_depth) {
  std::vector<ViewBatch> batches;
  for (int view = 0; view < static_cast<int>(indexed.size()); ++view) {
    const bool near = !(LeastDepth(indexed[view], grid) > least_depth);
    if (near || batches.empty() || batches.back().near || batches.back().views == most_views) {
      batches.push_back({view, 1, near});
    } else {
      ++batches.back().views;
    }
  }
  return batches;
}

}  // namespace isocenter::cuda
