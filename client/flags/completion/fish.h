// Completion of a command line by fish.
#pragma once

#include <string>
#include <vector>

#include "client/flags/completion/line.h"

namespace isocenter::flags {

/// A script for fish (`isocenter completion fish | source`), which offers what that for bash does,
/// each command and flag with its line of `--help`. `commands`: of CommandsOf.
std::string FishCompletion(const std::vector<CommandOnLine>& commands);

}  // namespace isocenter::flags
