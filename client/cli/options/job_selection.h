// Ended jobs that are old enough to go, of all nodes: what `isocenter delete --older-than` removes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cluster.h"

namespace isocenter::cli {

struct JobSelection {
  std::optional<double> older_than_seconds;  // since the end of the job; nothing: no selection
  bool delivered = false;                    // only what destinations have confirmed
  std::string station, protocol;             // empty: all
};

/// A job on the node that has it.
struct SelectedJob {
  std::string id;
  absl::Time ended;
  int64_t bytes = 0;  // about what its result takes of the archive
  size_t node = 0;    // number in Cluster::nodes
};

struct SelectedJobs {
  std::vector<SelectedJob> jobs;  // oldest first
  int kept = 0;                   // as old, but a destination has not confirmed all of their images

  int64_t bytes() const;
};

/// Asks all nodes, page by page; a job that fails on one node and completed on another is one of
/// each. A job with transfers that are not done is never in it. With `delivered` neither is one
/// that was sent nowhere, as all that failed. `asked`: one status for each node.
SelectedJobs SelectJobs(const client::Cluster& cluster, const JobSelection& selection,
                        absl::Time now, std::vector<client::NodeAnswer<bool>>& asked);

}  // namespace isocenter::cli
