// Many simulated consoles against one server: what is lost, and how long everything takes.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "client/channel.h"
#include "client/cli/interrupt.h"
#include "tests/bench/rooms/rooms_report.h"

namespace isocenter::bench {

struct RoomsOptions {
  client::ServerAddress server;
  int rooms = 4;
  double fps = 30;
  int frames = 248;
  int columns = 1240;
  int rows = 960;
  std::string pixel = "uint16";  // or "float32"
  int grid = 0;                  // voxels per axis; 0: chosen by the protocol
  double seconds = 0;            // consoles begin again until then; 0: one acquisition each
  int batch = 0;                 // consoles of class batch, which send as fast as they can
  std::string protocol;          // empty: the server's default
  std::string pacs;              // HOST:PORT,AETITLE; empty: not asked
  std::string metrics;           // HOST:PORT of the server's metrics; empty: not asked
  uint32_t seed = 1;             // of the frames and of the rooms' phases
  bool same_frames = false;      // all rooms send the same: one volume
  std::string arrivals;      // file of when which room scans (arrivals.h); empty: again and again
  std::string log;           // file with a line for each acquisition; empty: none
  bool wait_results = true;  // false: jobs are cancelled when all their frames are taken over
  std::string json;          // file to write; empty: none
};

/// Where `interrupt` happens, jobs that are under way are cancelled, and none begins. Errors:
/// INVALID_ARGUMENT, NOT_FOUND (credentials, the arrivals), UNAVAILABLE (the log cannot be
/// written).
absl::StatusOr<RoomsReport> MeasureRooms(const RoomsOptions& options,
                                         cli::Interrupt* interrupt = nullptr);

/// Prints and writes the report. Errors: those of MeasureRooms; DATA_LOSS when a frame was lost;
/// UNAVAILABLE (the file cannot be written, no acquisition was completed); CANCELLED by Ctrl-C.
absl::Status RunRooms(const RoomsOptions& options);

}  // namespace isocenter::bench
