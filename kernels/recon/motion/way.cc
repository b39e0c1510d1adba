#include "kernels/recon/motion/way.h"

#include <cmath>
#include <cstddef>

namespace isocenter::recon {

double AddWay(std::span<const double> of_frames, int each, double weight,
              std::span<double> by_frame) {
  constexpr double kRoundedMm = 3;  // of the whole way
  const double rounded = kRoundedMm * each / static_cast<double>(of_frames.size());
  double length = 0;
  for (size_t i = each; i < of_frames.size(); i += each) {
    double square = rounded * rounded;
    for (size_t p = i; p < i + each; ++p) {
      const double step = of_frames[p] - of_frames[p - each];
      square += step * step;
    }
    const double root = std::sqrt(square);
    length += root - rounded;
    for (size_t p = i; p < i + each; ++p) {
      const double slope = weight * (of_frames[p] - of_frames[p - each]) / root;
      by_frame[p] += slope;
      by_frame[p - each] -= slope;
    }
  }
  return weight * length;
}

}  // namespace isocenter::recon
