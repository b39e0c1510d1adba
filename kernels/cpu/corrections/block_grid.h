// Blocks of pixels on which what varies slowly is computed (kernels/ops/corrections.h).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/device/layout.h"
#include "kernels/geometry/detector.h"
#include "kernels/ops/corrections.h"

namespace isocenter::cpu {

static_assert(kLine == ops::kCoarseBlock, "rows of frames are padded to whole blocks");

/// A value for each block, [v][u], rows padded to whole lines.
struct BlockGrid {
  explicit BlockGrid(const Detector& detector)
      : rows((detector.rows + ops::kCoarseBlock - 1) / ops::kCoarseBlock),
        columns((detector.columns + ops::kCoarseBlock - 1) / ops::kCoarseBlock),
        stride(RoundUpToLine(columns)) {}
  int64_t floats() const { return rows * stride; }
  /// What a row of blocks becomes when it is interpolated: half a block more on both sides.
  int64_t pixels() const { return (columns + 1) * ops::kCoarseBlock; }

  int rows, columns;
  int64_t stride;
};

/// What a Gaussian brings from block to block along one axis.
class SpreadTable {
 public:
  SpreadTable(int blocks, double pitch_mm, double sigma_mm, double factor = 1);
  int blocks() const { return blocks_; }
  /// From a block to all, [block]; whole vectors may be loaded, what is behind the last is 0.
  const float* From(int block) const { return &weights_[blocks_ - 1 - block]; }

 private:
  int blocks_;
  std::vector<float> weights_;  // by distance, from 1 - blocks on
};

}  // namespace isocenter::cpu
