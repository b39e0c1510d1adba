// What this machine would not give to a start now, though the configuration is legal.
#pragma once

#include <string>
#include <vector>

#include "isocenter/v1/server_config.pb.h"

namespace isocenter::daemon {

/// Ports that another program has, directories that another process holds or this user may not
/// write to: a sentence for each, with its field and what to do. Of the service that runs with this
/// archive, which a start would replace, nothing is said. Makes nothing, listens nowhere. `config`
/// has its defaults.
std::vector<std::string> MachineNotes(const v1::ServerConfig& config);

}  // namespace isocenter::daemon
