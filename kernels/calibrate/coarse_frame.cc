#include "kernels/calibrate/coarse_frame.h"

#include <cassert>
#include <cmath>
#include <cstdlib>

namespace isocenter::calibrate {
namespace {

std::vector<double> Integrals(int count, double pitch_over_sigma) {
  const auto below = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  std::vector<double> integrals;
  for (int k = 0; k < count; ++k) {
    integrals.push_back(below((k + 0.5) * pitch_over_sigma) - below((k - 0.5) * pitch_over_sigma));
  }
  return integrals;
}

}  // namespace

std::vector<double> BlockMeans(std::span<const float> frame, const Detector& detector, int block) {
  const CoarseShape shape(detector, block);
  std::vector<double> sums(shape.blocks()), counts(shape.blocks());
  for (int v = 0; v < detector.rows; ++v) {
    for (int u = 0; u < detector.columns; ++u) {
      const float value = frame[size_t(v) * detector.columns + u];
      if (std::isnan(value)) continue;
      const size_t at = size_t(v / block) * shape.columns + u / block;
      sums[at] += value;
      counts[at] += 1;
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) sums[i] /= counts[i];  // 0 / 0 is not a number
  return sums;
}

CoarseGaussian::CoarseGaussian(const CoarseShape& shape, double sigma_mm)
    : shape_(shape),
      along_u_(Integrals(shape.columns, shape.pitch_u_mm / sigma_mm)),
      along_v_(Integrals(shape.rows, shape.pitch_v_mm / sigma_mm)) {}

std::vector<double> CoarseGaussian::Spread(const std::vector<double>& blocks) const {
  assert(blocks.size() == shape_.blocks());
  const int columns = shape_.columns, rows = shape_.rows;
  std::vector<double> rowwise(blocks.size()), spread(blocks.size());
  for (int v = 0; v < rows; ++v) {
    for (int u = 0; u < columns; ++u) {
      double sum = 0;
      for (int from = 0; from < columns; ++from) {
        sum += along_u_[std::abs(u - from)] * blocks[size_t(v) * columns + from];
      }
      rowwise[size_t(v) * columns + u] = sum;
    }
  }
  for (int v = 0; v < rows; ++v) {
    for (int from = 0; from < rows; ++from) {
      const double weight = along_v_[std::abs(v - from)];
      for (int u = 0; u < columns; ++u) {
        spread[size_t(v) * columns + u] += weight * rowwise[size_t(from) * columns + u];
      }
    }
  }
  return spread;
}

}  // namespace isocenter::calibrate
