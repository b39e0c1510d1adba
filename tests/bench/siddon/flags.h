// Flags of `isocenter-bench siddon`.
#pragma once

#include <CLI/CLI.hpp>

#include "tests/bench/siddon/options.h"

namespace isocenter::bench {

/// `options` must outlive the parsing.
CLI::App* AddSiddonCommand(CLI::App& app, SiddonOptions& options);

}  // namespace isocenter::bench
