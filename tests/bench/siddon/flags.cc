#include "tests/bench/siddon/flags.h"

namespace isocenter::bench {

flags::Command AddSiddonCommand(flags::Command program, SiddonOptions& o) {
  flags::Command command = program.Subcommand(
      "siddon", "Siddon's projector in all forms, with transfers: table I of Thompson & Lionheart");
  command.Add("--voxels", o.voxels, "Per axis of a cube of 256 mm").Range(16, 2048).ShowDefault();
  command.Add("--pixels", o.pixels, "Per axis of the detector").Range(16, 4096).ShowDefault();
  command.Add("--views", o.views, "Views over 360 degrees").Range(2, 10000).ShowDefault();
  command.Add("--repeats", o.repeats, "Timed runs of each form").Range(1, 1000).ShowDefault();
  command.Add("--backend", o.backends, "Backends (default: all with a device)").Separator(',');
  command.Add("--method", o.methods, "Methods (default: all of the backend)").Separator(',');
  command.Add("--threads", o.threads, "Numbers of the CPU's threads (default: 1 and all)")
      .Separator(',')
      .Range(1, 1024);
  command.Add("--out", o.out, "Directory for tables (.csv) and pictures (.png)").Type("DIRECTORY");
  return command;
}

}  // namespace isocenter::bench
