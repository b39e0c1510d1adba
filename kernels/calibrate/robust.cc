#include "kernels/calibrate/robust.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/base/median.h"

namespace isocenter::calibrate {

double Median(std::vector<double> values) {
  assert(!values.empty());
  return MedianOf(values);
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
