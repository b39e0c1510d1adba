// Flags of `isocenter-bench rooms`.
#pragma once

#include <CLI/CLI.hpp>

#include "tests/bench/rooms/rooms_bench.h"

namespace isocenter::bench {

/// `options` must outlive the parsing.
CLI::App* AddRoomsCommand(CLI::App& app, RoomsOptions& options);

}  // namespace isocenter::bench
