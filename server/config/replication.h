// Copies of frames between nodes: what the configuration says of them.
#pragma once

#include "isocenter/v1/server_config.pb.h"
#include "server/config/mistakes.h"

namespace isocenter::config {

/// Fills in what is not set.
void ApplyReplicationDefaults(v1::ReplicationConfig& replication);

/// cluster.replication, and spool.sync as far as it needs it.
void CheckReplication(const v1::ServerConfig& config, Mistakes& mistakes);

}  // namespace isocenter::config
