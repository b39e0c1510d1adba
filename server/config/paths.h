// Paths as a shell would have changed them, which nothing does here.
#pragma once

#include "isocenter/v1/server_config.pb.h"
#include "server/config/mistakes.h"

namespace isocenter::config {

/// No file and no directory begins with '~' or has a variable in it, as "$HOME": they would be
/// taken as they are, and a directory of that name be made.
void CheckPaths(const v1::ServerConfig& config, Mistakes& mistakes);

}  // namespace isocenter::config
