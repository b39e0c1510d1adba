// What many consoles met, by class of job.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tests/bench/rooms/console.h"
#include "tests/bench/rooms/distribution.h"
#include "tests/bench/rooms/metrics_probe.h"

namespace isocenter::bench {

struct ClassFigures {
  int64_t completed = 0, refused = 0, failed = 0;
  int64_t frames_sent = 0, frames_lost = 0, reconnects = 0;
  double bytes_sent = 0, voxel_updates = 0;
  Distribution acknowledge, volume, volume_here, stored, found;  // seconds
  Distribution begun_late;                                       // seconds
  Distribution kernel_gups, whole_gups;                          // per acquisition

  void Add(const AcquisitionRecord& record);
  int64_t started() const { return completed + refused + failed; }
};

struct RoomsReport {
  std::map<std::string, ClassFigures> classes;  // "live", "batch"
  std::vector<std::string> errors;              // the first ones
  double seconds = 0;                           // of the whole run
  double cpu_seconds = 0;                       // of this program
  MemoryProbe::Figures server_memory;           // zeros: not measured

  int64_t frames_lost() const;
};

nlohmann::ordered_json ToJson(const RoomsReport& report);
void Print(const RoomsReport& report);

}  // namespace isocenter::bench
