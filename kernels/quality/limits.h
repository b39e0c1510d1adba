// An acceptance test: figures against limits that do not come from an earlier scan.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/quality/constancy.h"

namespace isocenter::quality {

/// What a figure must be. Not set: no limit on that side.
struct Limit {
  std::string name;  // of a figure
  std::optional<double> least{}, most{};
};

/// INVALID_ARGUMENT with the value and what is legal: 1 to kMostMeasures limits, each name once and
/// one of `names`, at least one side of each, finite, the least not above the most.
absl::Status CheckLimits(std::span<const Limit> limits, const std::vector<std::string>& names);

struct LimitVerdict {
  Limit limit;
  std::optional<double> value;  // empty: it was not measured, and so has not passed

  bool passed() const {
    return value && (!limit.least || *value >= *limit.least) &&
           (!limit.most || *value <= *limit.most);
  }
};

/// A verdict on each limit, in their order. Both have been checked.
std::vector<LimitVerdict> Judge(std::span<const Limit> limits, std::span<const Measure> measures);

}  // namespace isocenter::quality
