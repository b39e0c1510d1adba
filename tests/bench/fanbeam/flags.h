// Flags of `isocenter-bench fan-beam`.
#pragma once

#include "client/flags/command.h"
#include "tests/bench/fanbeam/options.h"

namespace isocenter::bench {

/// `options` must outlive the parsing.
flags::Command AddFanBeamCommand(flags::Command program, FanBeamOptions& options);

}  // namespace isocenter::bench
