#include "kernels/cuda/rays.h"

#include <cmath>

namespace isocenter::cuda {

Rays RaysOf(const ProjectionMatrix& indexed) {
  const std::array<double, 9> inverse = InverseLeft(indexed);
  const auto column = [&](int i) { return Vec3{inverse[i], inverse[3 + i], inverse[6 + i]}; };
  const Vec3 shift =
      indexed(0, 3) * column(0) + indexed(1, 3) * column(1) + indexed(2, 3) * column(2);
  return {-shift, column(2), column(0), column(1)};
}

std::vector<ViewBatch> BoxBatchesOf(std::span<const ProjectionMatrix> indexed,
                                    const VolumeGrid& grid, int most_views, double least_depth) {
  // The corners of the outer voxels are the centres of the outer ones of a grid of corners.
  VolumeGrid corners = grid;
  ++corners.nx, ++corners.ny, ++corners.nz;
  std::vector<ProjectionMatrix> from_corners(indexed.begin(), indexed.end());
  for (ProjectionMatrix& matrix : from_corners) {
    for (int row = 0; row < 3; ++row) {
      matrix.m[4 * row + 3] -= 0.5 * (matrix(row, 0) + matrix(row, 1) + matrix(row, 2));
    }
  }
  return BatchesOf(from_corners, corners, most_views, least_depth);
}

bool AxisFollowsRows(const ProjectionMatrix& indexed, const VolumeGrid& grid) {
  const Projected middle =
      indexed.Project({0.5 * (grid.nx - 1), 0.5 * (grid.ny - 1), 0.5 * (grid.nz - 1)});
  const double du = indexed(0, 2) * middle.w - middle.uw * indexed(2, 2);
  const double dv = indexed(1, 2) * middle.w - middle.vw * indexed(2, 2);
  return std::abs(dv) >= std::abs(du);
}

}  // namespace isocenter::cuda
