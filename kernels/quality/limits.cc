#include "kernels/quality/limits.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/nearest.h"

namespace isocenter::quality {

absl::Status CheckLimits(std::span<const Limit> limits, const std::vector<std::string>& names) {
  if (limits.empty() || limits.size() > kMostMeasures) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", limits.size(), " limits; legal is 1 to ", kMostMeasures));
  }
  std::set<std::string> seen;
  for (const Limit& limit : limits) {
    if (std::ranges::find(names, limit.name) == names.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a limit is of '", limit.name.substr(0, kLongestMeasureName),
                       "'; legal is a figure of the phantom", DidYouMean(limit.name, names)));
    }
    if (!seen.insert(limit.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(limit.name, " has two limits; legal is each name once"));
    }
    if (!limit.least && !limit.most) {
      return absl::InvalidArgumentError(
          absl::StrCat(limit.name, " has neither min nor max; legal is one of them, or both"));
    }
    const double least = limit.least.value_or(limit.most.value_or(0));
    const double most = limit.most.value_or(least);
    if (!(std::isfinite(least) && std::isfinite(most) && least <= most)) {
      return absl::InvalidArgumentError(
          absl::StrFormat("the limits of %s are %g to %g; legal are finite numbers, of which min "
                          "is not above max",
                          limit.name, least, most));
    }
  }
  return absl::OkStatus();
}

std::vector<LimitVerdict> Judge(std::span<const Limit> limits, std::span<const Measure> measures) {
  std::vector<LimitVerdict> verdicts;
  for (const Limit& limit : limits) {
    LimitVerdict& verdict = verdicts.emplace_back(LimitVerdict{.limit = limit, .value = {}});
    const auto now = std::ranges::find(measures, limit.name, &Measure::name);
    if (now != measures.end()) verdict.value = now->value;
  }
  return verdicts;
}

}  // namespace isocenter::quality
