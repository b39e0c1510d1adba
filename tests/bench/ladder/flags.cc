#include "tests/bench/ladder/flags.h"

namespace isocenter::bench {
namespace {

// What both commands have.
template <class Options>
void AddShared(CLI::App& command, Options& o) {
  command.add_option("--size", o.sizes, "Voxels per axis of a cube of 256 mm")
      ->delimiter(',')
      ->check(CLI::Range(16, 2048))
      ->capture_default_str();
  command.add_option("--views", o.views, "Projections over 200 degrees")
      ->check(CLI::Range(2, 10000))
      ->capture_default_str();
  command.add_option("--binning", o.binning, "Pixels of 1248x960 that are one, per axis")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  command.add_option("--repeats", o.repeats, "Timed runs of each row")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--backend", o.backend, "Backend")->capture_default_str();
  command.add_option("--out", o.out, "Directory for tables (.csv) and pictures (.png)");
}

}  // namespace

CLI::App* AddLadderCommand(CLI::App& app, LadderOptions& o) {
  CLI::App& command = *app.add_subcommand(
      "ladder", "The steps of Papenhausen & Mueller (2011): seconds, error and speed-up of each");
  AddShared(command, o);
  return &command;
}

CLI::App* AddRabbitCtCommand(CLI::App& app, RabbitCtOptions& o) {
  CLI::App& command = *app.add_subcommand(
      "rabbitct", "The module of the RabbitCT benchmark by the runner's clock, with every method");
  AddShared(command, o);
  command.add_option("--method", o.methods, "Methods (default: all of the backend)")
      ->delimiter(',');
  command
      .add_option("--images-at-once", o.images_at_once,
                  "Images that the runner hands over between pauses")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command
      .add_option("--form", o.forms,
                  "read: images are read into the module's buffers; copied: they lie in the "
                  "runner's memory; streamed: as read, the volume goes through the device in parts")
      ->delimiter(',')
      ->check(CLI::IsMember({"read", "copied", "streamed"}))
      ->capture_default_str();
  command
      .add_option("--device-memory-limit", o.device_memory_bytes,
                  "Bytes of device memory to use at most, e.g. 2GiB")
      ->transform(CLI::AsSizeValue(false));
  command.add_option("--trace", o.trace,
                     "File for what the device did when in the last run, without the runner's "
                     "pauses, for Perfetto");
  return &command;
}

}  // namespace isocenter::bench
