// Joseph's adjoint by cells: the squares between four voxels of a plane across the major axis.
//
// A cell lies between two neighbours along b and two along z. On a column of pixels, the weights of
// a cell's four voxels are products of polynomials in the row, so that what the column adds to a
// cell is known from the sums of q, v·q and v²·q over the rows that are seen in it, with q the
// pixels. Sums over rows are differences of running sums. These are kept in whole numbers, modulo
// 2^32: a difference is exact however long the column is.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "kernels/cuda/device/session.h"
#include "kernels/cuda/projectors/joseph/joseph_adjoint_view.h"

namespace isocenter::cuda {

/// A view with its detector mirrored such that columns grow along b and rows along z.
struct CellView {
  JosephView rays;  // of the detector as it is
  int index;        // which view of the stack
  bool mirrored_u, mirrored_v;
  bool upright;  // columns of pixels are parallel to z
  /// (u·w, v·w, w) = m · (i, j, k, 1); u and v from the first column and row, mirrored.
  double m[12];
  /// Pixels are rounded to whole multiples of a power of two of which the largest of their column
  /// has at most 2^bits.
  int bits;
};

struct CellViews {
  CellView of[kAdjointViews];
};

/// The view, where cells serve all of the grid: its columns of pixels are nearly along z, the
/// source is not close, and no ray that counts is nearly along b.
std::optional<CellView> MakeCellView(const JosephAdjointView& adjoint, const PlaneAxes& axes,
                                     const VolumeGrid& grid, Shape3 stack);

/// Running sums over the rows of each column, up to each row and over all.
struct RunningSums {
  uint2* sums;      // of q, and of row·q
  uint32_t* third;  // of row²·q; of views that lean
  float* scale;     // of a view's columns: what a whole number is worth
  int pitch;        // from column to column, in rows
};
int RunningPitch(const Shape3& stack);

/// Both add to `volume` what count views have of the planes across axes.major; all are upright or
/// none.
absl::Status SumColumns(const CellViews& views, int count, const PlaneAxes& axes,
                        const JosephExtent& e, const float* projections, const RunningSums& to,
                        cudaStream_t stream);
absl::Status GatherCells(const CellViews& views, int count, const PlaneAxes& axes,
                         const JosephExtent& e, const VolumeGrid& grid, const RunningSums& from,
                         float* volume, cudaStream_t stream);

}  // namespace isocenter::cuda
