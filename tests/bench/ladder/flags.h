// Flags of `isocenter-bench ladder` and `isocenter-bench rabbitct`.
#pragma once

#include "client/flags/command.h"
#include "tests/bench/ladder/bench.h"

namespace isocenter::bench {

/// `options` must outlive the parsing.
flags::Command AddLadderCommand(flags::Command program, LadderOptions& options);
flags::Command AddRabbitCtCommand(flags::Command program, RabbitCtOptions& options);

}  // namespace isocenter::bench
