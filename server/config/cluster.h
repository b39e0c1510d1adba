// Which node this is, and which others there are.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "isocenter/v1/server_config.pb.h"

namespace isocenter::config {

/// An unset name becomes the host's name, an unset list this node alone.
void ApplyClusterDefaults(v1::ClusterConfig& cluster);

/// Checks a cluster with defaults. Errors: INVALID_ARGUMENT naming the field, its value and what is
/// legal.
absl::Status ValidateCluster(const v1::ClusterConfig& cluster);

/// Whether `node`, the value of `field`, is one of cluster.node other than this one. Errors: as
/// ValidateCluster.
absl::Status CheckOtherNode(const std::string& field, const std::string& node,
                            const v1::ClusterConfig& cluster);

}  // namespace isocenter::config
