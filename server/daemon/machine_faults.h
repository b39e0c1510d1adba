// What this machine would not give to a start now, though the configuration is legal.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "isocenter/v1/server_config.pb.h"

namespace isocenter::daemon {

/// Ports that another program has, directories that another process holds, or that this user may
/// not write to or make: an error for each, with its field and what to do. A start asks before it
/// makes anything. Of the service that runs with this archive, which a start would replace, nothing
/// is said. Makes nothing, listens nowhere. `config` has its defaults.
std::vector<absl::Status> MachineFaults(const v1::ServerConfig& config);

}  // namespace isocenter::daemon
