// What the driver of the back-projection hands to its kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "kernels/geometry/projection_matrix.h"

namespace isocenter::cpu {

/// One view of a filtered stack in ColumnLayout.
struct BackprojectView {
  ProjectionMatrix matrix;  // of voxel indices
  const float* image;       // pixel (0, 0)
  int64_t stride;           // from column to column
  int rows, columns;
};

inline constexpr int kBoxHeight = 256;

/// A box of voxels: [x0, x1) and so on; z1 - z0 is at most kBoxHeight.
struct VoxelBox {
  int x0, x1, y0, y1, z0, z1;
};

/// Boxes that one thread updates with all views, in VolumeLayout.
struct BackprojectJob {
  std::span<const BackprojectView> views;
  std::span<const VoxelBox> boxes;
  float* volume;  // voxel (0, 0, 0)
  int64_t column_stride, row_stride;
};

/// Brings the part of a view that a box needs towards the cache, a few lines at a time between
/// other work: detector columns are short, and the hardware's prefetcher starts anew at each.
class ViewPrefetcher {
 public:
  ViewPrefetcher() = default;
  ViewPrefetcher(const BackprojectView& view, const VoxelBox& box) {
    double u0 = view.columns, u1 = -1, v0 = view.rows, v1 = -1;
    for (int corner = 0; corner < 8; ++corner) {
      const Projected p = view.matrix.Project({static_cast<double>(corner & 1 ? box.x1 : box.x0),
                                               static_cast<double>(corner & 2 ? box.y1 : box.y0),
                                               static_cast<double>(corner & 4 ? box.z1 : box.z0)});
      if (!(p.w > 0)) return;  // a rare geometry: left to the hardware
      u0 = std::min(u0, p.u());
      u1 = std::max(u1, p.u());
      v0 = std::min(v0, p.v());
      v1 = std::max(v1, p.v());
    }
    const auto first_column = static_cast<int64_t>(std::max(u0, 0.0));
    const auto first_row = static_cast<int64_t>(std::max(v0, 0.0));
    columns_ = static_cast<int64_t>(std::min<double>(u1 + 2, view.columns)) - first_column;
    rows_ = static_cast<int64_t>(std::min<double>(v1 + 2, view.rows)) - first_row;
    if (columns_ <= 0 || rows_ <= 0) columns_ = 0;
    column_ = view.image + first_column * view.stride + first_row;
    stride_ = view.stride;
  }

  /// Prefetches up to `count` lines. False when all are done.
  bool Issue(int count) {
    for (; count > 0 && columns_ > 0; --count) {
      __builtin_prefetch(column_ + row_, 0, 2);
      row_ += 16;
      if (row_ >= rows_ + 15) {
        row_ = 0;
        column_ += stride_;
        --columns_;
      }
    }
    return columns_ > 0;
  }

  int64_t lines() const { return columns_ * ((rows_ + 15) / 16 + 1); }

 private:
  const float* column_ = nullptr;
  int64_t stride_ = 0, columns_ = 0, rows_ = 0, row_ = 0;
};

}  // namespace isocenter::cpu
