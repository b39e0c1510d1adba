#include "kernels/phantom/noise.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/phantom/generator.h"

namespace isocenter::phantom {

void ToCounts(std::span<const float> line_integrals, double i0_counts, const NoiseModel& noise,
              int view, std::span<uint16_t> counts) {
  assert(line_integrals.size() == counts.size());
  // A generator of its own for every view: an odd multiplier keeps the seeds of views apart.
  Generator generator(noise.seed ^ (static_cast<uint64_t>(view) + 1) * 0xD1B54A32D192ED03u);
  for (size_t i = 0; i < counts.size(); ++i) {
    const double transmission = std::exp(-static_cast<double>(line_integrals[i]));
    double value = i0_counts * transmission;
    if (noise.photons > 0) {
      value = i0_counts / noise.photons * generator.Poisson(noise.photons * transmission);
    }
    if (noise.electronic_counts > 0) value += noise.electronic_counts * generator.Normal();
    // Written so that NaN becomes 0.
    counts[i] = static_cast<uint16_t>(value > 0 ? std::min(std::round(value), 65535.0) : 0);
  }
}

}  // namespace isocenter::phantom
