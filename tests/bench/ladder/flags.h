// Flags of `isocenter-bench ladder` and `isocenter-bench rabbitct`.
#pragma once

#include <CLI/CLI.hpp>

#include "tests/bench/ladder/bench.h"

namespace isocenter::bench {

/// `options` must outlive the parsing.
CLI::App* AddLadderCommand(CLI::App& app, LadderOptions& options);
CLI::App* AddRabbitCtCommand(CLI::App& app, RabbitCtOptions& options);

}  // namespace isocenter::bench
