#include "tests/bench/rooms/rooms_flags.h"

#include <string>

namespace isocenter::bench {

flags::Command AddRoomsCommand(flags::Command program, RoomsOptions& o) {
  flags::Command command = program.Subcommand(
      "rooms", "Simulated consoles against a server: frames lost, latencies, throughput");
  command.Footer("Exit code 1 when a frame was lost or no acquisition was completed.");
  command.Add("--server", o.server.address, "host:port of isocenterd").ShowDefault();
  command.Add("--ca", o.server.ca_file, "PEM file of the server's authority; turns TLS on");
  command.Add("--cert", o.server.certificate_file, "PEM certificate of the consoles");
  command.Add("--key", o.server.private_key_file, "PEM private key of --cert");
  command.Add("--rooms", o.rooms, "Consoles of class live").Range(0, 1000).ShowDefault();
  command.Add("--fps", o.fps, "Frames per second of a room; 0: as fast as the server takes")
      .Range(0.0, 10000.0)
      .ShowDefault();
  command.Add("--frames", o.frames, "Frames of an acquisition").Range(1, 10000).ShowDefault();
  command.Add("--columns", o.columns, "Columns of a frame").Range(1, 8192).ShowDefault();
  command.Add("--rows", o.rows, "Rows of a frame").Range(1, 8192).ShowDefault();
  command.Add("--pixel", o.pixel, "uint16 (counts) or float32 (line integrals)")
      .OneOf({"uint16", "float32"})
      .ShowDefault();
  command.Add("--grid", o.grid, "Voxels per axis; 0: chosen by the protocol")
      .Range(0, 4096)
      .ShowDefault();
  command
      .Add("--seconds", o.seconds, "Soak: consoles begin again until then; 0: one acquisition each")
      .Range(0.0, 1e7)
      .ShowDefault();
  command.Add("--batch", o.batch, "Further consoles of class batch, as fast as the server takes")
      .Range(0, 1000)
      .ShowDefault();
  command.Add("--protocol", o.protocol, "Protocol (default: the server's)");
  command.Add("--pacs", o.pacs, "HOST:PORT,AETITLE that must find each series (by findscu)");
  command.Add("--metrics", o.metrics, "HOST:PORT of the server's metrics, for its memory");
  command.Add("--seed", o.seed, "Of the frames and of the rooms' phases").ShowDefault();
  command.AddSwitch("--same-frames", o.same_frames,
                    "All rooms send the same frames, so that all volumes are the same");
  command.Add("--arrivals", o.arrivals,
              "File of when which room scans, a line SECONDS ROOM for each scan; a room that "
              "still scans then begins late");
  command.Add("--log", o.log, "Also write a line of JSON for each acquisition to this file");
  command
      .AddSetter<std::string>(
          "--wait-results", [&o](const std::string& answer) { o.wait_results = answer == "yes"; },
          "no: only how frames are taken over; jobs are cancelled after the last one")
      .OneOf({"yes", "no"})
      .ShowDefault("yes");
  command.Add("--json", o.json, "Also write the figures to this file").Type("FILE");
  return command;
}

}  // namespace isocenter::bench
