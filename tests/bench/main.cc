// isocenter-bench: prints how fast this machine reconstructs.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "tests/bench/commands.h"

int main(int argc, char** argv) {
  CLI::App app("Measures Isocenter's kernels on this machine, and servers under load.");
  app.require_subcommand(1);
  const auto commands = isocenter::bench::AddCommands(app);
  CLI11_PARSE(app, argc, argv);
  for (const auto& command : commands) {
    if (!command.flags->parsed()) continue;
    const absl::Status status = command.run();
    if (!status.ok()) {
      std::fprintf(stderr, "isocenter-bench: %s\n", std::string(status.message()).c_str());
      return 1;
    }
  }
  return 0;
}
