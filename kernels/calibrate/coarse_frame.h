// Frames on the blocks that scatter is corrected on.
#pragma once

#include <span>
#include <vector>

#include "kernels/geometry/detector.h"
#include "kernels/ops/corrections.h"

namespace isocenter::calibrate {

/// Blocks of ops::kCoarseBlock pixels along both axes; the last ones may have fewer.
struct CoarseShape {
  explicit CoarseShape(const Detector& detector)
      : columns((detector.columns + ops::kCoarseBlock - 1) / ops::kCoarseBlock),
        rows((detector.rows + ops::kCoarseBlock - 1) / ops::kCoarseBlock),
        pitch_u_mm(ops::kCoarseBlock * detector.pitch_u_mm),
        pitch_v_mm(ops::kCoarseBlock * detector.pitch_v_mm) {}
  size_t blocks() const { return size_t(columns) * rows; }

  int columns, rows;
  double pitch_u_mm, pitch_v_mm;
};

/// Means of a frame's numbers, [row][column]; not a number where a block has none.
std::vector<double> BlockMeans(std::span<const float> frame, const Detector& detector);

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
