#include "kernels/reference/coarse_blocks.h"

#include <algorithm>
#include <cmath>

#include "kernels/ops/corrections.h"

namespace isocenter::reference {
namespace {

constexpr int kSide = ops::kCoarseBlock;

// What the Gaussian brings over k blocks, k >= 0.
std::vector<double> BroughtOver(int blocks, double pitch_mm, double sigma_mm) {
  const double d = kSide * pitch_mm;
  const double variance = sigma_mm * sigma_mm - d * d / 3;
  std::vector<double> brought(blocks, 0.0);
  brought[0] = 1;
  if (variance <= 0) return brought;
  const auto phi = [&](double distance) {
    return 0.5 * std::erfc(-distance / std::sqrt(2 * variance));
  };
  for (int k = 0; k < blocks; ++k) brought[k] = phi((k + 0.5) * d) - phi((k - 0.5) * d);
  return brought;
}

}  // namespace

CoarseBlocks::CoarseBlocks(const Detector& detector)
    : rows_((detector.rows + kSide - 1) / kSide),
      columns_((detector.columns + kSide - 1) / kSide),
      values_(int64_t{rows_} * columns_, 0.0) {}

CoarseBlocks CoarseBlocks::MeansOf(const Detector& detector, HostView3<const double> frames,
                                   int64_t view) {
  CoarseBlocks means(detector);
  for (int v = 0; v < means.rows(); ++v) {
    for (int u = 0; u < means.columns(); ++u) {
      double sum = 0;
      int64_t pixels = 0;
      for (int row = v * kSide; row < std::min((v + 1) * kSide, detector.rows); ++row) {
        for (int column = u * kSide; column < std::min((u + 1) * kSide, detector.columns);
             ++column) {
          sum += frames(view, row, column);
          ++pixels;
        }
      }
      means(v, u) = sum / static_cast<double>(pixels);
    }
  }
  return means;
}

double CoarseBlocks::Interpolated(int64_t v, int64_t u) const {
  const auto place = [](int64_t pixel, int blocks) {
    const double centre = (kSide - 1) / 2.0;
    return std::clamp((static_cast<double>(pixel) - centre) / kSide, 0.0, blocks - 1.0);
  };
  const double y = place(v, rows_), x = place(u, columns_);
  const int v0 = static_cast<int>(y), u0 = static_cast<int>(x);
  const int v1 = std::min(v0 + 1, rows_ - 1), u1 = std::min(u0 + 1, columns_ - 1);
  const double b = y - v0, a = x - u0;
  const CoarseBlocks& self = *this;
  return (1 - b) * ((1 - a) * self(v0, u0) + a * self(v0, u1)) +
         b * ((1 - a) * self(v1, u0) + a * self(v1, u1));
}

void AddSpread(const Detector& detector, double factor, double sigma_mm, const CoarseBlocks& from,
               CoarseBlocks& to) {
  const std::vector<double> along_v = BroughtOver(to.rows(), detector.pitch_v_mm, sigma_mm);
  const std::vector<double> along_u = BroughtOver(to.columns(), detector.pitch_u_mm, sigma_mm);
  for (int v = 0; v < to.rows(); ++v) {
    for (int u = 0; u < to.columns(); ++u) {
      double sum = 0;
      for (int y = 0; y < from.rows(); ++y) {
        for (int x = 0; x < from.columns(); ++x) {
          sum += along_v[std::abs(v - y)] * along_u[std::abs(u - x)] * from(y, x);
        }
      }
      to(v, u) += factor * sum;
    }
  }
}

}  // namespace isocenter::reference
