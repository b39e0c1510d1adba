// Percentiles of many values.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace isocenter::bench {

/// All values are kept: soaks of hours have some millions.
class Distribution {
 public:
  void Add(double value) {
    values_.push_back(value);
    sorted_ = false;
  }
  void Add(const Distribution& other);
  bool empty() const { return values_.empty(); }
  /// The smallest value that at least `percent` of all do not exceed (nearest rank). `percent` from
  /// 0 to 100; not empty.
  double Percentile(double percent) const;

 private:
  mutable std::vector<double> values_;
  mutable bool sorted_ = false;
};

/// p50, p90, p99 and max; null when empty.
nlohmann::ordered_json ToJson(const Distribution& distribution);
/// "p50 1.2  p90 1.9  p99 4.0  max 7.1" of values times `scale`; "not measured" when empty.
std::string ToText(const Distribution& distribution, double scale);

}  // namespace isocenter::bench
