// The other nodes of a cluster that this one asks how they are.
#pragma once

#include <vector>

#include "isocenter/v1/server_config.pb.h"
#include "server/config/mistakes.h"

namespace isocenter::config {

/// cluster.peer, and the keeper where it is not among them.
std::vector<v1::PeerConfig> PeersOf(const v1::ClusterConfig& cluster);

/// cluster.peer_tls; unset: the keeper's files, where there is one.
v1::PeerTlsConfig PeerTlsOf(const v1::ClusterConfig& cluster);

/// cluster.peer and cluster.peer_tls.
void CheckPeers(const v1::ClusterConfig& cluster, Mistakes& mistakes);

}  // namespace isocenter::config
