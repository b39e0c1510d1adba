// How the cpu backend lays out its buffers. Distances are in floats; every vector row starts on a
// cache line.
#pragma once

#include <cstdint>

#include "kernels/base/views.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cpu {

inline constexpr int64_t kLine = 16;  // floats of a cache line

constexpr int64_t RoundUpToLine(int64_t floats) { return (floats + kLine - 1) / kLine * kLine; }

/// Line integrals: [view][v][u], rows padded to whole lines. The padding may hold anything.
struct RowLayout {
  explicit RowLayout(Shape3 shape)
      : row_stride(RoundUpToLine(shape.fast)), view_stride(row_stride * shape.middle) {}
  int64_t row_stride, view_stride;
  static int64_t Floats(Shape3 shape) { return RowLayout(shape).view_stride * shape.slow; }
};

/// The next odd number of whole lines: neighbours at this distance fall into different cache sets.
constexpr int64_t OddLines(int64_t floats) {
  return RoundUpToLine(floats) + (RoundUpToLine(floats) / kLine % 2 == 0 ? kLine : 0);
}

/// Filtered projections: [view][u][v], so that neighbouring voxels along z read neighbouring
/// values, with zeros around: a window that begins up to kRowMargin rows before the detector or
/// ends as far behind it reads zeros, and so do kColumnMargin columns on both sides. The margin
/// behind a column is the margin before the next one.
struct ColumnLayout {
  static constexpr int64_t kRowMargin = 128;
  static constexpr int64_t kColumnMargin = 2;

  explicit ColumnLayout(Shape3 shape)
      : column_stride(OddLines(shape.middle + kRowMargin)),
        view_stride(column_stride * (shape.fast + 2 * kColumnMargin) + kRowMargin),
        first(kRowMargin + kColumnMargin * column_stride) {}
  int64_t column_stride, view_stride;
  int64_t first;  // of pixel (0, 0) in its view
  static int64_t Floats(Shape3 shape) { return ColumnLayout(shape).view_stride * shape.slow; }
};

/// Volumes: [y][x][z], columns padded to whole lines. The padding may hold anything: kernels write
/// whole vectors. Back-projection works on square patches of columns: their cache lines must
/// not fall into the same few sets, as they would with sizes that are powers of two.
struct VolumeLayout {
  explicit VolumeLayout(const VolumeGrid& grid)
      : column_stride(OddLines(grid.nz)), row_stride(Spread(column_stride * grid.nx)) {}
  int64_t column_stride, row_stride;  // from x to x + 1, from y to y + 1
  static int64_t Floats(const VolumeGrid& grid) { return VolumeLayout(grid).row_stride * grid.ny; }

 private:
  // The next distance that is a quarter of a cache way off a multiple of it (64 sets).
  static constexpr int64_t Spread(int64_t floats) {
    constexpr int64_t kWay = 64 * kLine;
    return (floats - kWay / 4 + kWay - 1) / kWay * kWay + kWay / 4;
  }
};

}  // namespace isocenter::cpu
