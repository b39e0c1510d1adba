#include "server/config/cluster.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/base/host_name.h"
#include "server/config/mistakes.h"

namespace isocenter::config {
namespace {

constexpr size_t kLongestName = 64;

bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-'; }

bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, IsNameCharacter);
}

absl::Status CheckName(absl::string_view field, const std::string& name) {
  if (IsName(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is '", name, "'; legal is 1 to 64 characters of [A-Za-z0-9_.-]"));
}

}  // namespace

void ApplyClusterDefaults(v1::ClusterConfig& cluster) {
  if (cluster.node_name().empty()) {
    const std::string host = HostName();
    cluster.set_node_name(IsName(host) ? host : "isocenter");
  }
  if (cluster.node().empty()) cluster.add_node(cluster.node_name());
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
  return mistakes.status();
}

}  // namespace isocenter::config
