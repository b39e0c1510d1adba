// Pages of what is stored, by the shared index.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/archive/dialect.h"
#include "server/archive/listing.h"
#include "server/cluster_index/connection.h"
#include "server/cluster_index/other_archives.h"

namespace isocenter::cluster_index {

/// The dialect of PostgreSQL, in which of several copies of a series that of the first of `nodes`
/// is seen, and none of a node that is not among them.
archive::Dialect DialectFor(const std::vector<std::string>& nodes);

/// As Listing::Find, within a transaction of `connection`. Field::kNode is "" for `own`.
absl::StatusOr<std::vector<std::vector<std::string>>> ListRows(
    Connection& connection, const archive::ListingRequest& request, const archive::Dialect& dialect,
    const OtherArchives& archives, const std::string& own, absl::Time deadline);

}  // namespace isocenter::cluster_index
