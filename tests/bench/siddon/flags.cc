#include "tests/bench/siddon/flags.h"

namespace isocenter::bench {

CLI::App* AddSiddonCommand(CLI::App& app, SiddonOptions& o) {
  CLI::App& command = *app.add_subcommand(
      "siddon", "Siddon's projector in all forms, with transfers: table I of Thompson & Lionheart");
  command.add_option("--voxels", o.voxels, "Per axis of a cube of 256 mm")
      ->check(CLI::Range(16, 2048))
      ->capture_default_str();
  command.add_option("--pixels", o.pixels, "Per axis of the detector")
      ->check(CLI::Range(16, 4096))
      ->capture_default_str();
  command.add_option("--views", o.views, "Views over 360 degrees")
      ->check(CLI::Range(2, 10000))
      ->capture_default_str();
  command.add_option("--repeats", o.repeats, "Timed runs of each form")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--backend", o.backends, "Backends (default: all with a device)")
      ->delimiter(',');
  command.add_option("--method", o.methods, "Methods (default: all of the backend)")
      ->delimiter(',');
  command.add_option("--threads", o.threads, "Numbers of the CPU's threads (default: 1 and all)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  command.add_option("--out", o.out, "Directory for tables (.csv) and pictures (.png)");
  return &command;
}

}  // namespace isocenter::bench
