// A figure over spatial frequency.
#pragma once

#include <optional>
#include <vector>

namespace isocenter::quality {

/// Values over frequencies (1/mm) that increase.
struct FrequencyCurve {
  std::vector<double> frequencies, values;

  /// Linear between frequencies, constant beyond the ends. The curve is not empty.
  double At(double frequency) const;
  /// The first frequency at which the curve falls to `level`; empty where it never does.
  std::optional<double> FallsTo(double level) const;
};

}  // namespace isocenter::quality
