#include "kernels/cuda/projectors/rays.h"

#include <algorithm>
#include <cmath>

namespace isocenter::cuda {
namespace {

Vec3 MiddleOf(const VolumeGrid& grid) {
  return {0.5 * (grid.nx - 1), 0.5 * (grid.ny - 1), 0.5 * (grid.nz - 1)};
}

}  // namespace

Rays RaysOf(const ProjectionMatrix& indexed) {
  const std::array<double, 9> inverse = InverseLeft(indexed);
  const auto column = [&](int i) { return Vec3{inverse[i], inverse[3 + i], inverse[6 + i]}; };
  const Vec3 shift =
      indexed(0, 3) * column(0) + indexed(1, 3) * column(1) + indexed(2, 3) * column(2);
  return {-shift, column(2), column(0), column(1)};
}

double HalfDepthOfVoxel(const ProjectionMatrix& indexed) {
  return 0.5 * (std::abs(indexed(2, 0)) + std::abs(indexed(2, 1)) + std::abs(indexed(2, 2)));
}

ProjectionMatrix Centered(const ProjectionMatrix& indexed, const VolumeGrid& grid,
                          const Shape3& stack) {
  const Projected middle = indexed.Project(MiddleOf(grid));
  const double u = 0.5 * static_cast<double>(stack.fast - 1);
  const double v = 0.5 * static_cast<double>(stack.middle - 1);
  ProjectionMatrix centered = indexed;
  centered.m[3] = middle.uw;
  centered.m[7] = middle.vw;
  centered.m[11] = middle.w;
  for (int i = 0; i < 4; ++i) {
    centered.m[i] -= u * centered(2, i);
    centered.m[4 + i] -= v * centered(2, i);
  }
  return centered;
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

bool ZFollowsRows(const ProjectionMatrix& centered) {
  const double w = centered(2, 3);
  const double du = centered(0, 2) * w - centered(0, 3) * centered(2, 2);
  const double dv = centered(1, 2) * w - centered(1, 3) * centered(2, 2);
  return std::abs(dv) >= std::abs(du);
}

bool ColumnsShareCrossings(const ProjectionMatrix& centered, const VolumeGrid& grid,
                           const Shape3& stack) {
  const Rays rays = RaysOf(centered);
  const double half_rows = 0.5 * static_cast<double>(stack.middle);
  const double half_columns = 0.5 * static_cast<double>(stack.fast);
  const double deepest = centered(2, 3) + 0.5 * (std::abs(centered(2, 0)) * grid.nx +
                                                 std::abs(centered(2, 1)) * grid.ny +
                                                 std::abs(centered(2, 2)) * grid.nz);
  // Voxels; what rounding leaves of positions is as large.
  constexpr double kMost = 1e-5;
  const double apart = std::max(std::abs(rays.per_row.x), std::abs(rays.per_row.y));
  if (!(apart * half_rows * deepest < kMost)) return false;
  for (int64_t column = 0; column < stack.fast; ++column) {
    const Vec3 d = rays.At(static_cast<double>(column) + 0.5 - half_columns, 0);
    const double steepest = std::abs(d.z) + std::abs(rays.per_row.z) * half_rows;
    if (!(steepest < std::max(std::abs(d.x), std::abs(d.y)))) return false;
  }
  return true;
}

}  // namespace isocenter::cuda
