// Flags of `isocenter-bench rooms`.
#pragma once

#include "client/flags/command.h"
#include "tests/bench/rooms/rooms_bench.h"

namespace isocenter::bench {

/// `options` must outlive the parsing.
flags::Command AddRoomsCommand(flags::Command program, RoomsOptions& options);

}  // namespace isocenter::bench
