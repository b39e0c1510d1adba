// The subcommands of isocenter-bench with their flags.
#pragma once

#include "client/flags/command.h"

namespace isocenter::bench {

void AddCommands(flags::Command program);

}  // namespace isocenter::bench
