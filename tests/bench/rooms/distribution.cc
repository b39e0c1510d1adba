#include "tests/bench/rooms/distribution.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"

namespace isocenter::bench {

void Distribution::Add(const Distribution& other) {
  values_.insert(values_.end(), other.values_.begin(), other.values_.end());
  sorted_ = false;
}

double Distribution::Percentile(double percent) const {
  if (!sorted_) std::sort(values_.begin(), values_.end());
  sorted_ = true;
  const auto count = static_cast<double>(values_.size());
  const double rank = std::clamp(std::ceil(percent / 100 * count), 1.0, count);
  return values_[static_cast<size_t>(rank) - 1];
}

nlohmann::ordered_json ToJson(const Distribution& distribution) {
  if (distribution.empty()) return nullptr;
  return {{"p50", distribution.Percentile(50)},
          {"p90", distribution.Percentile(90)},
          {"p99", distribution.Percentile(99)},
          {"max", distribution.Percentile(100)}};
}

std::string ToText(const Distribution& distribution, double scale) {
  if (distribution.empty()) return "not measured";
  return absl::StrFormat("p50 %8.2f   p90 %8.2f   p99 %8.2f   max %8.2f",
                         scale * distribution.Percentile(50), scale * distribution.Percentile(90),
                         scale * distribution.Percentile(99), scale * distribution.Percentile(100));
}

}  // namespace isocenter::bench
