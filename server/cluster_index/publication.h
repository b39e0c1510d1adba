// What a node writes into the shared index. One transaction of all nodes at a time: what they write
// is little, and studies and patients belong to all of them.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/archive/index_changes.h"
#include "server/cluster_index/connection.h"

namespace isocenter::cluster_index {

/// Makes the index say of a job of `node` what `result` says, in place of what it said; a result
/// without series is one that is gone. Where several nodes know a patient or study, the attributes
/// that were stored last stand. Errors: Connection's.
absl::Status Publish(Connection& connection, const std::string& node, const std::string& job_id,
                     const archive::StoredResult& result, absl::Time deadline);

/// Whether the index has what an archive of this generation has told it in the name of `node`.
absl::StatusOr<bool> IsKnown(Connection& connection, const std::string& node,
                             const std::string& generation, absl::Time deadline);
/// Takes all of a node's results out, some at a time; afterwards the generation is known. Whoever
/// is interrupted begins again.
absl::Status BeginAnew(Connection& connection, const std::string& node,
                       const std::string& generation, absl::Duration longest_step);
/// Whether all that the node has is in the index: answers of other nodes say so where it is not.
absl::Status SetComplete(Connection& connection, const std::string& node, bool is_complete,
                         absl::Time deadline);

}  // namespace isocenter::cluster_index
