// Completion of a command line by bash, and by zsh, which can run what is written for bash.
#pragma once

#include <string>
#include <vector>

#include "client/flags/completion/line.h"

namespace isocenter::flags {

/// A script for bash (`source <(isocenter completion bash)`): commands, flags, values of flags that
/// have a list, with commas and behind "=" too, names that the service knows, else names of files.
/// `commands`: of CommandsOf.
std::string BashCompletion(const std::vector<CommandOnLine>& commands);

/// The same for zsh.
std::string ZshCompletion(const std::vector<CommandOnLine>& commands);

}  // namespace isocenter::flags
