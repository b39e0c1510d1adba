// The subcommands of isocenter-bench with their flags.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <vector>

#include "absl/status/status.h"

namespace isocenter::bench {

struct Command {
  CLI::App* flags;
  std::function<absl::Status()> run;  // with what the flags were parsed to
};

/// `app` must outlive the commands.
std::vector<Command> AddCommands(CLI::App& app);

}  // namespace isocenter::bench
