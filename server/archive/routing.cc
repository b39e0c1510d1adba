#include "server/archive/routing.h"

namespace isocenter::archive {

ResultRole RoleOf(const jobs::Job& job) {
  if (jobs::IsRefinement(job)) return ResultRole::kRefinement;
  switch (job.pair_role) {
    case jobs::PairRole::kNone:
      return ResultRole::kSingle;
    case jobs::PairRole::kMask:
      return ResultRole::kMask;
    case jobs::PairRole::kFill:
      return ResultRole::kFill;
    case jobs::PairRole::kSubtraction:
      return ResultRole::kSubtraction;
  }
  return ResultRole::kSingle;
}

std::vector<Destination> DestinationsOf(const std::vector<Route>& routes, const jobs::Job& job) {
  std::vector<Destination> destinations;
  for (const Route& route : routes) {
    if (route.automatic && (route.protocols.empty() || route.protocols.contains(job.protocol)) &&
        (route.roles.empty() || route.roles.contains(RoleOf(job)))) {
      destinations.push_back(route.destination);
    }
  }
  return destinations;
}

}  // namespace isocenter::archive
