// The tables of the shared index, version by version; docs/formats/shared-index.md describes them.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/cluster_index/connection.h"

namespace isocenter::cluster_index {

/// Makes or updates the tables; of several nodes that come at once, one does it. Errors besides
/// Connection's: FAILED_PRECONDITION (they are of a newer version; the database is not in UTF-8).
absl::Status Migrate(Connection& connection, absl::Time deadline);

/// FAILED_PRECONDITION: the tables are not of this program's version. Makes nothing.
absl::Status CheckVersion(Connection& connection, absl::Time deadline);

/// What a connection is told first: where the tables are, and how long a statement may take.
absl::Status Prepare(Connection& connection, absl::Duration longest_statement, absl::Time deadline);

}  // namespace isocenter::cluster_index
