#include "kernels/geometry/detector_rows.h"

#include <algorithm>
#include <cmath>

namespace isocenter {

RowRange RowsSeen(std::span<const ProjectionMatrix> matrices, const VolumeGrid& grid, int rows) {
  // Of the isocentre's depth; closer to the source a small part of the grid spreads over the
  // detector.
  constexpr double kLeastDepth = 0.1;
  double least = rows, most = -1;
  for (const ProjectionMatrix& matrix : matrices) {
    for (int corner = 0; corner < 8; ++corner) {
      const Projected p = matrix.Project(grid.VoxelToWorld((corner & 1) ? grid.nx - 1 : 0,
                                                           (corner & 2) ? grid.ny - 1 : 0,
                                                           (corner & 4) ? grid.nz - 1 : 0));
      if (!(p.w > kLeastDepth)) return {0, rows};
      least = std::min(least, p.v());
      most = std::max(most, p.v());
    }
  }
  // One row for the interpolation and one for rounding.
  const int first = static_cast<int>(std::clamp(std::floor(least) - 2, 0.0, rows - 1.0));
  const int end =
      static_cast<int>(std::clamp(std::ceil(most) + 3, first + 1.0, double{1.0} * rows));
  return {first, end - first};
}

ProjectionMatrix WithoutRowsBefore(const ProjectionMatrix& matrix, int first) {
  ProjectionMatrix shifted = matrix;
  for (int column = 0; column < 4; ++column) shifted.m[4 + column] -= first * matrix(2, column);
  return shifted;
}

ProjectionMatrix WithColumnsBefore(const ProjectionMatrix& matrix, double count) {
  ProjectionMatrix shifted = matrix;
  for (int column = 0; column < 4; ++column) shifted.m[column] += count * matrix(2, column);
  return shifted;
}

}  // namespace isocenter
