#include "kernels/cpu/corrections/block_grid.h"

#include <cmath>

namespace isocenter::cpu {

SpreadTable::SpreadTable(int blocks, double pitch_mm, double sigma_mm, double factor)
    : blocks_(blocks), weights_(2 * RoundUpToLine(blocks) + kLine, 0.f) {
  const double d = ops::kCoarseBlock * pitch_mm;
  const double variance = sigma_mm * sigma_mm - d * d / 3;
  // Less than float32 can add to anything, and its products are not small enough to be slow.
  constexpr double kNothing = 1e-15;
  for (int k = 0; k < blocks; ++k) {
    double weight = k == 0 ? 1 : 0;
    if (variance > 0) {
      const double scale = d / std::sqrt(2 * variance);
      weight = (std::erf((k + 0.5) * scale) - std::erf((k - 0.5) * scale)) / 2;
    }
    if (weight < kNothing) break;
    weights_[blocks - 1 + k] = weights_[blocks - 1 - k] = static_cast<float>(factor * weight);
  }
}

}  // namespace isocenter::cpu
