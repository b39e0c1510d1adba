#include "kernels/quality/transfer_curve.h"

#include <algorithm>

namespace isocenter::quality {

double FrequencyCurve::At(double frequency) const {
  const auto above = std::upper_bound(frequencies.begin(), frequencies.end(), frequency);
  if (above == frequencies.begin()) return values.front();
  if (above == frequencies.end()) return values.back();
  const size_t i = above - frequencies.begin();
  const double part = (frequency - frequencies[i - 1]) / (frequencies[i] - frequencies[i - 1]);
  return values[i - 1] + part * (values[i] - values[i - 1]);
}

std::optional<double> FrequencyCurve::FallsTo(double level) const {
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] > level || values[i - 1] <= level) continue;
    const double part = (values[i - 1] - level) / (values[i - 1] - values[i]);
    return frequencies[i - 1] + part * (frequencies[i] - frequencies[i - 1]);
  }
  return std::nullopt;
}

}  // namespace isocenter::quality
