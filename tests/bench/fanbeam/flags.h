// Flags of `isocenter-bench fan-beam`.
#pragma once

#include <CLI/CLI.hpp>

#include "tests/bench/fanbeam/options.h"

namespace isocenter::bench {

/// `options` must outlive the parsing.
CLI::App* AddFanBeamCommand(CLI::App& app, FanBeamOptions& options);

}  // namespace isocenter::bench
