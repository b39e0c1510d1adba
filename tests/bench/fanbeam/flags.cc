#include "tests/bench/fanbeam/flags.h"

namespace isocenter::bench {

flags::Command AddFanBeamCommand(flags::Command program, FanBeamOptions& o) {
  flags::Command command = program.Subcommand(
      "fan-beam", "Fan-beam FBP in all forms: seconds, errors, noise, the study of Mendl et al.");
  command.Add("--size", o.size, "Pixels per axis of 500 mm").Range(256, 4096).ShowDefault();
  command.Add("--views", o.views, "Views over 360 degrees").Range(16, 16384).ShowDefault();
  command.Add("--repeats", o.repeats, "Timed runs of each form; the paper made 100")
      .Range(1, 1000)
      .ShowDefault();
  command.Add("--backend", o.backends, "Backends (default: all with a device)").Separator(',');
  command.Add("--method", o.methods, "Methods of back-projection (default: all)").Separator(',');
  command.Add("--threads", o.threads, "Numbers of the CPU's threads (default: 1, 2, 4 ..)")
      .Separator(',')
      .Range(1, 1024);
  command
      .Add("--devices", o.devices,
           "More than one: only what it brings when 2, 4 .. of them share one slice")
      .Range(1, 64)
      .ShowDefault();
  command.Add("--realizations", o.realizations, "Scans with noise of their own; 0: none")
      .Range(0, 100000)
      .ShowDefault();
  command.Add("--photons", o.photons, "Per channel and view, unattenuated")
      .Range(1.0, 1e12)
      .ShowDefault();
  command.Add("--spacing", o.spacings, "Distances of channels, of the paper's")
      .Separator(',')
      .Range(0.2, 8.0)
      .ShowDefault();
  command.AddSwitch("--reference", o.reference, "Also against the float64 reference: minutes");
  command.Add("--seed", o.seed, "Of the noise").ShowDefault();
  command.Add("--out", o.out, "Directory for tables (.csv) and pictures (.png)").Type("DIRECTORY");
  return command;
}

}  // namespace isocenter::bench
