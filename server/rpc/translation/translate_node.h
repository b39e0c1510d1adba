// Nodes of a cluster as messages, and back.
#pragma once

#include "absl/status/statusor.h"
#include "isocenter/v1/node.pb.h"
#include "server/node/cluster.h"

namespace isocenter::rpc {

v1::NodeReplication ToProto(const node::Replication& replication);
v1::NodePeer ToProto(const node::Peer& peer);

/// What another node says of itself, without its peers. Errors: INVALID_ARGUMENT (a figure that
/// none can be).
absl::StatusOr<node::Summary> SummaryFromProto(const v1::NodeStatus& status);

}  // namespace isocenter::rpc
