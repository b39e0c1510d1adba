// The index that all nodes of a cluster share: this node's results go into it, queries come out of
// it. docs/formats/shared-index.md; docs/adr/0096-a-shared-index.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/archive/archive.h"
#include "server/archive/catalog.h"
#include "server/cluster_index/connection_string.h"
#include "server/cluster_index/other_archives.h"
#include "server/cluster_index/publisher.h"
#include "server/cluster_index/reader_pool.h"
#include "server/cluster_index/shared_catalog.h"
#include "server/cluster_index/state.h"

namespace isocenter::cluster_index {

struct ClusterIndexOptions {
  ConnectionParameters connection;
  std::string node;                // this one
  std::vector<std::string> nodes;  // all, this one included
  std::string archives;            // see OtherArchives
  absl::Duration answer = absl::Seconds(2);
};

/// Thread-safe.
class ClusterIndex {
 public:
  /// `archive` outlives it. A database that is away is waited for in the background. Errors:
  /// FAILED_PRECONDITION (its tables are of a newer version, or it is not in UTF-8); those of the
  /// archive.
  static absl::StatusOr<std::unique_ptr<ClusterIndex>> Start(ClusterIndexOptions options,
                                                             archive::Archive& archive);

  archive::Catalog& catalog() { return catalog_; }
  bool is_up() const { return state_.is_up(); }
  /// Jobs whose result the shared index does not know as it is; -1: not known.
  int64_t waiting() const { return publisher_.waiting(); }

 private:
  ClusterIndex(ClusterIndexOptions options, archive::Archive& archive);

  const OtherArchives archives_;
  State state_;
  Publisher publisher_;
  ReaderPool pool_;
  SharedCatalog catalog_;
};

}  // namespace isocenter::cluster_index
