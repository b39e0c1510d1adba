#include "tests/bench/summary.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace isocenter::bench {

Summary Summarize(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

nlohmann::json ToJson(const Summary& summary) {
  return {{"median", summary.median}, {"min", summary.least}, {"max", summary.most}};
}

Summary Gups(const std::vector<double>& seconds, double updates) {
  std::vector<double> rates;
  for (double s : seconds) rates.push_back(updates / s * 1e-9);
  return Summarize(rates);
}

}  // namespace isocenter::bench
