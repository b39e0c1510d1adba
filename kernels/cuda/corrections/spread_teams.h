// How large the teams are that spread blocks (spread_lines.cuh).
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/cuda/corrections/launch_team.h"
#include "kernels/cuda/corrections/spread_plan.h"

namespace isocenter::cuda {

/// The sizes that a kernel's teams may have on a session's device.
class SpreadTeams {
 public:
  struct Team {
    int parts;
    SpreadPlan plan;
    int64_t at_once;  // teams that the device has room for
  };

  /// As SpreadPlan::Of. Errors: INTERNAL (CUDA).
  template <class Job>
  static absl::StatusOr<SpreadTeams> Create(const CudaSession& session, void (*kernel)(Job),
                                            const BlockShape& shape, const TableLayout& layout,
                                            int groups, int value_bytes) {
    ISO_ASSIGN_OR_RETURN(const int most_parts, TeamParts(session));
    ISO_ASSIGN_OR_RETURN(const int64_t most_shared_bytes, AllowShared(kernel, session));
    SpreadTeams teams;
    for (int parts = most_parts; parts > 0; parts /= 2) {
      const SpreadPlan plan =
          SpreadPlan::Of(shape, layout, groups, value_bytes, parts, most_shared_bytes);
      ISO_ASSIGN_OR_RETURN(const int64_t at_once,
                           TeamsAtOnce(kernel, parts, kTeamThreads, plan.shared_bytes));
      teams.teams_.push_back({parts, plan, at_once});
    }
    return teams;
  }

  /// Those that have most parts at work for so many views. Where the last teams would have to wait
  /// for the first ones, smaller ones, all at work, are done sooner.
  const Team& For(int64_t views) const {
    const auto at_work = [views](const Team& team) {
      const int64_t rounds = (views + team.at_once - 1) / team.at_once;
      return static_cast<double>(team.parts) / static_cast<double>(rounds);
    };
    // Of equal ones the smaller: its parts wait less for each other.
    return *std::max_element(teams_.rbegin(), teams_.rend(),
                             [&](const Team& a, const Team& b) { return at_work(a) < at_work(b); });
  }

 private:
  std::vector<Team> teams_;
};

}  // namespace isocenter::cuda
