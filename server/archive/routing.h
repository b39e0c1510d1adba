// Which results are sent where by themselves.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "server/archive/records.h"
#include "server/jobs/job.h"

namespace isocenter::archive {

/// What a result is to its patient's other results.
enum class ResultRole { kSingle, kMask, kFill, kSubtraction, kRefinement };
ResultRole RoleOf(const jobs::Job& job);

/// One destination's rule.
struct Route {
  Destination destination;
  bool automatic = true;            // false: nothing is sent by itself
  std::set<std::string> protocols;  // empty: all
  std::set<ResultRole> roles;       // empty: all
};

/// The destinations of a job's result, in the order of the routes.
std::vector<Destination> DestinationsOf(const std::vector<Route>& routes, const jobs::Job& job);

}  // namespace isocenter::archive
