#include "server/config/cluster.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/identifier.h"
#include "server/base/host_name.h"
#include "server/config/fields.h"
#include "server/config/mistakes.h"
#include "server/config/peers.h"
#include "server/config/replication.h"

namespace isocenter::config {
namespace {

absl::Status CheckName(absl::string_view field, const std::string& name) {
  if (IsIdentifier(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is '", name, "'; legal is 1 to 64 characters of [A-Za-z0-9_.-]"));
}

absl::Status CheckSharedIndex(const v1::SharedIndexConfig& shared, bool is_set) {
  if (!is_set) return absl::OkStatus();
  const std::string& archives = shared.archives();
  if (shared.connection_file().empty()) {
    return Illegal("cluster.shared_index.connection_file", "''",
                   "a file with a connection string of PostgreSQL");
  }
  constexpr char kNode[] = "{node}";
  const size_t node = archives.find(kNode);
  const bool is_once =
      node != std::string::npos && archives.find(kNode, node + 1) == std::string::npos;
  if (!archives.empty() && (archives.front() != '/' || !is_once)) {
    return Illegal("cluster.shared_index.archives", absl::StrCat("'", archives.substr(0, 100), "'"),
                   "an absolute path with {node} once, e.g. \"/srv/isocenter/{node}\"");
  }
  return CheckRange("cluster.shared_index.answer_seconds", shared.answer_seconds(), 0.1, 60);
}

}  // namespace

absl::Status CheckOtherNode(const std::string& field, const std::string& node,
                            const v1::ClusterConfig& cluster) {
  const bool is_another = node != cluster.node_name() &&
                          std::ranges::find(cluster.node(), node) != cluster.node().end();
  if (is_another) return absl::OkStatus();
  return Illegal(field, absl::StrCat("'", node, "'"),
                 absl::StrCat("a name in cluster.node (", absl::StrJoin(cluster.node(), ", "),
                              ") other than this node's"));
}

void ApplyClusterDefaults(v1::ClusterConfig& cluster) {
  if (cluster.node_name().empty()) {
    const std::string host = HostName();
    cluster.set_node_name(IsIdentifier(host) ? host : "isocenter");
  }
  if (cluster.node().empty()) cluster.add_node(cluster.node_name());
  if (cluster.has_replication()) ApplyReplicationDefaults(*cluster.mutable_replication());
  if (cluster.has_shared_index()) {
    Default(*cluster.mutable_shared_index(), &v1::SharedIndexConfig::answer_seconds,
            &v1::SharedIndexConfig::set_answer_seconds, 2.0);
  }
}

absl::Status ValidateCluster(const v1::ClusterConfig& cluster) {
  Mistakes mistakes;
  const absl::Status own_name = CheckName("cluster.node_name", cluster.node_name());
  mistakes.Add(own_name);
  std::set<std::string> names;
  for (int i = 0; i < cluster.node_size(); ++i) {
    const std::string field = absl::StrCat("cluster.node[", i, "]");
    mistakes.Add(CheckName(field, cluster.node(i)));
    if (!names.insert(cluster.node(i)).second) {
      mistakes.Add(absl::InvalidArgumentError(absl::StrCat(
          field, " is '", cluster.node(i), "'; legal is a name that no other node has")));
    }
  }
  if (own_name.ok() && names.count(cluster.node_name()) == 0) {
    mistakes.Add(
        absl::InvalidArgumentError(absl::StrCat("cluster.node_name is '", cluster.node_name(),
                                                "'; legal is one of the names in "
                                                "cluster.node")));
  }
  mistakes.Add(CheckSharedIndex(cluster.shared_index(), cluster.has_shared_index()));
  CheckPeers(cluster, mistakes);
  return mistakes.status();
}

}  // namespace isocenter::config
