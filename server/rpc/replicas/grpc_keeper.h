// The node that keeps copies of this node's frames, by gRPC.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "isocenter/v1/server_config.pb.h"
#include "server/replicas/keeper.h"

namespace isocenter::rpc {

/// `config` has its defaults. Connects when it is first used. Errors: NOT_FOUND, INVALID_ARGUMENT
/// (a file of the configuration).
absl::StatusOr<std::unique_ptr<replicas::Keeper>> OpenKeeper(const v1::ReplicaKeeperConfig& config);

}  // namespace isocenter::rpc
