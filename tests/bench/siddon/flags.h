// Flags of `isocenter-bench siddon`.
#pragma once

#include "client/flags/command.h"
#include "tests/bench/siddon/options.h"

namespace isocenter::bench {

/// `options` must outlive the parsing.
flags::Command AddSiddonCommand(flags::Command program, SiddonOptions& options);

}  // namespace isocenter::bench
