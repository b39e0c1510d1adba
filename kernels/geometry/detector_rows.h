// What of a detector a part of a volume needs, and the matrices of detectors that are cut or wider.
#pragma once

#include <span>

#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter {

/// Detector rows [first, first + count).
struct RowRange {
  int first = 0;
  int count = 0;
  int end() const { return first + count; }
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

/// The rows of a detector of `rows` rows whose pixels contribute to a grid in any of the views; all
/// of them when part of the grid is close to the source or behind it. At least one row.
RowRange RowsSeen(std::span<const ProjectionMatrix> matrices, const VolumeGrid& grid, int rows);

/// The matrix of a detector that begins with row `first`.
ProjectionMatrix WithoutRowsBefore(const ProjectionMatrix& matrix, int first);

/// The matrix of a detector that has `count` more columns before its first; where that is no whole
/// number, of one that is moved by as many towards smaller columns.
ProjectionMatrix WithColumnsBefore(const ProjectionMatrix& matrix, double count);

}  // namespace isocenter
