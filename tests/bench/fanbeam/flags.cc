#include "tests/bench/fanbeam/flags.h"

namespace isocenter::bench {

CLI::App* AddFanBeamCommand(CLI::App& app, FanBeamOptions& o) {
  CLI::App& command = *app.add_subcommand(
      "fan-beam", "Fan-beam FBP in all forms: seconds, errors, noise, the study of Mendl et al.");
  command.add_option("--size", o.size, "Pixels per axis of 500 mm")
      ->check(CLI::Range(256, 4096))
      ->capture_default_str();
  command.add_option("--views", o.views, "Views over 360 degrees")
      ->check(CLI::Range(16, 16384))
      ->capture_default_str();
  command.add_option("--repeats", o.repeats, "Timed runs of each form; the paper made 100")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--backend", o.backends, "Backends (default: all with a device)")
      ->delimiter(',');
  command.add_option("--method", o.methods, "Methods of back-projection (default: all)")
      ->delimiter(',');
  command.add_option("--threads", o.threads, "Numbers of the CPU's threads (default: 1, 2, 4 ..)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  command
      .add_option("--devices", o.devices,
                  "More than one: only what it brings when 2, 4 .. of them share one slice")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command.add_option("--realizations", o.realizations, "Scans with noise of their own; 0: none")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  command.add_option("--photons", o.photons, "Per channel and view, unattenuated")
      ->check(CLI::Range(1.0, 1e12))
      ->capture_default_str();
  command.add_option("--spacing", o.spacings, "Distances of channels, of the paper's")
      ->delimiter(',')
      ->check(CLI::Range(0.2, 8.0))
      ->capture_default_str();
  command.add_flag("--reference", o.reference, "Also against the float64 reference: minutes");
  command.add_option("--seed", o.seed, "Of the noise")->capture_default_str();
  command.add_option("--out", o.out, "Directory for tables (.csv) and pictures (.png)");
  return &command;
}

}  // namespace isocenter::bench
