// Nodes as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/string_view.h"
#include "isocenter/v1/node.pb.h"

namespace isocenter::cli {

/// Whether it takes acquisitions, and each reason why not, a line each; how many jobs it has.
std::string NodeText(const v1::NodeStatus& status);
/// "cuda0: healthy, 52.1 GUPS ..." or why it failed; with a newline.
std::string DeviceText(const v1::NodeDevice& device);

/// How callers prove who they are.
std::string AccessText(const v1::NodeAccess& access);
/// "reached, keeps all of 2 jobs", ...: of copies between nodes, a line each; empty without any.
std::string ReplicationText(const v1::NodeReplication& replication);

/// Text of another node, which nothing has checked: control characters, which a terminal would
/// obey, are '?'.
std::string Plain(absl::string_view text);

/// Without its peers.
nlohmann::ordered_json ToJson(const v1::NodeStatus& status);

}  // namespace isocenter::cli
