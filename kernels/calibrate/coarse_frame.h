// Frames on blocks, as glare and scatter are corrected on.
#pragma once

#include <span>
#include <vector>

#include "kernels/geometry/detector.h"
#include "kernels/ops/corrections.h"

namespace isocenter::calibrate {

/// Blocks of `block` pixels along both axes; the last ones may have fewer.
struct CoarseShape {
  explicit CoarseShape(const Detector& detector, int block = ops::kCoarseBlock)
      : block(block),
        columns((detector.columns + block - 1) / block),
        rows((detector.rows + block - 1) / block),
        pitch_u_mm(block * detector.pitch_u_mm),
        pitch_v_mm(block * detector.pitch_v_mm) {}
  size_t blocks() const { return size_t(columns) * rows; }

  int block;
  int columns, rows;
  double pitch_u_mm, pitch_v_mm;
};

/// Means of a frame's numbers, [row][column]; not a number where a block has none.
std::vector<double> BlockMeans(std::span<const float> frame, const Detector& detector,
                               int block = ops::kCoarseBlock);

/// What a Gaussian brings from block to block: its integral over the distance of k blocks along
/// each axis, as ops::CorrectScatter has it.
class CoarseGaussian {
 public:
  CoarseGaussian(const CoarseShape& shape, double sigma_mm);
  std::vector<double> Spread(const std::vector<double>& blocks) const;

 private:
  CoarseShape shape_;
  std::vector<double> along_u_, along_v_;  // by distance
};

}  // namespace isocenter::calibrate
