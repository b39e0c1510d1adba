// Where this machine sees the files of other nodes. What a database says of them is not believed:
// no name leads out of a node's archive.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace isocenter::cluster_index {

/// Thread-safe.
class OtherArchives {
 public:
  /// `own`: this node's name, `own_results`: its directory of results. `archives`: that of other
  /// nodes' archives, with {node} for a name; empty: there is none.
  OtherArchives(std::string own, std::filesystem::path own_results, std::string archives,
                std::vector<std::string> nodes);

  /// All nodes of the cluster, by name.
  const std::vector<std::string>& nodes() const { return nodes_; }
  /// The same, this one first, then those whose archive is seen here. Looks at their directories.
  std::vector<std::string> NodesByReach() const;

  /// The file of a row. DATA_LOSS: a node that is none of the cluster's, or a name that is none of
  /// a result's.
  absl::StatusOr<std::filesystem::path> FileOf(const std::string& node,
                                               const std::string& directory,
                                               const std::string& file_name) const;
  /// Whether it is a file within that node's archive, without following links out of it.
  /// UNAVAILABLE, naming the node, with a short reason.
  absl::Status Check(const std::string& node, const std::filesystem::path& file) const;

 private:
  /// Empty: not seen here.
  std::filesystem::path ResultsOf(const std::string& node) const;

  const std::string own_;
  const std::filesystem::path own_results_;
  const std::string archives_;
  std::vector<std::string> nodes_;
};

}  // namespace isocenter::cluster_index
