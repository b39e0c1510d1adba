#include "tests/bench/rooms/rooms_flags.h"

#include <string>

namespace isocenter::bench {

CLI::App* AddRoomsCommand(CLI::App& app, RoomsOptions& o) {
  CLI::App& command = *app.add_subcommand(
      "rooms", "Simulated consoles against a server: frames lost, latencies, throughput");
  command.footer("Exit code 1 when a frame was lost or no acquisition was completed.");
  command.add_option("--server", o.server.address, "host:port of isocenterd")
      ->capture_default_str();
  command.add_option("--ca", o.server.ca_file, "PEM file of the server's authority; turns TLS on");
  command.add_option("--cert", o.server.certificate_file, "PEM certificate of the consoles");
  command.add_option("--key", o.server.private_key_file, "PEM private key of --cert");
  command.add_option("--rooms", o.rooms, "Consoles of class live")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command.add_option("--fps", o.fps, "Frames per second of a room; 0: as fast as the server takes")
      ->check(CLI::Range(0.0, 10000.0))
      ->capture_default_str();
  command.add_option("--frames", o.frames, "Frames of an acquisition")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command.add_option("--columns", o.columns, "Columns of a frame")
      ->check(CLI::Range(1, 8192))
      ->capture_default_str();
  command.add_option("--rows", o.rows, "Rows of a frame")
      ->check(CLI::Range(1, 8192))
      ->capture_default_str();
  command.add_option("--pixel", o.pixel, "uint16 (counts) or float32 (line integrals)")
      ->check(CLI::IsMember({"uint16", "float32"}))
      ->capture_default_str();
  command.add_option("--grid", o.grid, "Voxels per axis; 0: chosen by the protocol")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command
      .add_option("--seconds", o.seconds,
                  "Soak: consoles begin again until then; 0: one acquisition each")
      ->check(CLI::Range(0.0, 1e7))
      ->capture_default_str();
  command
      .add_option("--batch", o.batch,
                  "Further consoles of class batch, as fast as the server takes")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command.add_option("--protocol", o.protocol, "Protocol (default: the server's)");
  command.add_option("--pacs", o.pacs, "HOST:PORT,AETITLE that must find each series (by findscu)");
  command.add_option("--metrics", o.metrics, "HOST:PORT of the server's metrics, for its memory");
  command.add_option("--seed", o.seed, "Of the frames and of the rooms' phases")
      ->capture_default_str();
  command.add_flag("--same-frames", o.same_frames,
                   "All rooms send the same frames, so that all volumes are the same");
  command.add_option(
      "--arrivals", o.arrivals,
      "File of when which room scans, a line SECONDS ROOM for each scan; a room that "
      "still scans then begins late");
  command.add_option("--log", o.log, "Also write a line of JSON for each acquisition to this file");
  command
      .add_option_function<std::string>(
          "--wait-results", [&o](const std::string& answer) { o.wait_results = answer == "yes"; },
          "no: only how frames are taken over; jobs are cancelled after the last one")
      ->check(CLI::IsMember({"yes", "no"}))
      ->default_str("yes");
  command.add_option("--json", o.json, "Also write the figures to this file");
  return &command;
}

}  // namespace isocenter::bench
