#include "tests/bench/ladder/flags.h"

namespace isocenter::bench {
namespace {

// What both commands have.
template <class Options>
void AddShared(flags::Command command, Options& o) {
  command.Add("--size", o.sizes, "Voxels per axis of a cube of 256 mm")
      .Separator(',')
      .Range(16, 2048)
      .ShowDefault();
  command.Add("--views", o.views, "Projections over 200 degrees").Range(2, 10000).ShowDefault();
  command.Add("--binning", o.binning, "Pixels of 1248x960 that are one, per axis")
      .Range(1, 16)
      .ShowDefault();
  command.Add("--repeats", o.repeats, "Timed runs of each row").Range(1, 1000).ShowDefault();
  command.Add("--backend", o.backend, "Backend").ShowDefault();
  command.Add("--out", o.out, "Directory for tables (.csv) and pictures (.png)").Type("DIRECTORY");
}

}  // namespace

flags::Command AddLadderCommand(flags::Command program, LadderOptions& o) {
  flags::Command command = program.Subcommand(
      "ladder", "The steps of Papenhausen & Mueller (2011): seconds, error and speed-up of each");
  AddShared(command, o);
  return command;
}

flags::Command AddRabbitCtCommand(flags::Command program, RabbitCtOptions& o) {
  flags::Command command = program.Subcommand(
      "rabbitct", "The module of the RabbitCT benchmark by the runner's clock, with every method");
  AddShared(command, o);
  command.Add("--method", o.methods, "Methods (default: all of the backend)").Separator(',');
  command
      .Add("--images-at-once", o.images_at_once, "Images that the runner hands over between pauses")
      .Range(1, 10000)
      .ShowDefault();
  command
      .Add("--form", o.forms,
           "read: images are read into the module's buffers; copied: they lie in the "
           "runner's memory; streamed: as read, the volume goes through the device in parts")
      .Separator(',')
      .OneOf({"read", "copied", "streamed"})
      .ShowDefault();
  command
      .Add("--device-memory-limit", o.device_memory_bytes,
           "Bytes of device memory to use at most, e.g. 2GiB")
      .Bytes();
  command.Add("--trace", o.trace,
              "File for what the device did when in the last run, without the runner's "
              "pauses, for Perfetto");
  return command;
}

}  // namespace isocenter::bench
