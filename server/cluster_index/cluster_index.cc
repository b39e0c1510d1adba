#include "server/cluster_index/cluster_index.h"

#include <utility>

#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/cluster_index/connection.h"
#include "server/cluster_index/schema.h"

namespace isocenter::cluster_index {

ClusterIndex::ClusterIndex(ClusterIndexOptions options, archive::Archive& archive)
    : archives_(options.node, archive.results_directory(), options.archives, options.nodes),
      publisher_({.connection = options.connection, .node = options.node}, archive.changes(),
                 state_),
      pool_(options.connection, options.answer, state_),
      catalog_(archive, options.node, archives_, pool_, publisher_, options.answer) {}

absl::StatusOr<std::unique_ptr<ClusterIndex>> ClusterIndex::Start(ClusterIndexOptions options,
                                                                  archive::Archive& archive) {
  // What waiting does not put right is told at the start.
  constexpr absl::Duration kLongestTry = absl::Seconds(5);
  const absl::Time deadline = absl::Now() + kLongestTry;
  if (const auto connection = Connection::Open(options.connection, deadline); connection.ok()) {
    const absl::Status made = Migrate(**connection, deadline);
    if (absl::IsFailedPrecondition(made)) return made;
  }
  ISO_RETURN_IF_ERROR(archive.changes().Keep());
  return std::unique_ptr<ClusterIndex>(new ClusterIndex(std::move(options), archive));
}

}  // namespace isocenter::cluster_index
