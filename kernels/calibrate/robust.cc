#include "kernels/calibrate/robust.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace isocenter::calibrate {

double Median(std::vector<double> values) {
  assert(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double RobustSigma(std::vector<double> values) {
  const double median = Median(values);
  for (double& value : values) value = std::abs(value - median);
  return 1.4826 * Median(std::move(values));
}

std::vector<double> Thinned(std::span<const float> values, size_t most) {
  const size_t step = (values.size() + most - 1) / most;
  std::vector<double> thinned;
  for (size_t i = 0; i < values.size(); i += step) thinned.push_back(values[i]);
  return thinned;
}

}  // namespace isocenter::calibrate
