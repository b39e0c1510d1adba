// What spreads slowly, on blocks of pixels (kernels/ops/corrections.h).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/views.h"
#include "kernels/geometry/detector.h"

namespace isocenter::reference {

/// A value for each block of a frame, [v][u].
class CoarseBlocks {
 public:
  explicit CoarseBlocks(const Detector& detector);
  /// The means of the blocks of one frame.
  static CoarseBlocks MeansOf(const Detector& detector, HostView3<const double> frames,
                              int64_t view);

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  double& operator()(int v, int u) { return values_[v * columns_ + u]; }
  double operator()(int v, int u) const { return values_[v * columns_ + u]; }
  /// At a pixel.
  double Interpolated(int64_t v, int64_t u) const;

 private:
  int rows_, columns_;
  std::vector<double> values_;
};

/// Adds factor · N(sigma) * `from` to `to`, each block from all others.
void AddSpread(const Detector& detector, double factor, double sigma_mm, const CoarseBlocks& from,
               CoarseBlocks& to);

}  // namespace isocenter::reference
