// `isocenter-bench ladder` and `isocenter-bench rabbitct`: back-projections of filtered projections
// that come one after the other from host memory.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace isocenter::bench {

struct LadderOptions {
  std::vector<int> sizes = {256, 512};
  int views = 496;
  int binning = 1;  // of RabbitCT's detector
  int repeats = 3;
  std::string backend = "cuda";
  std::string out;  // directory of tables and pictures; empty: none
};

/// The steps of Papenhausen & Mueller, "GPU-Accelerated Back-Projection Revisited" (HPIR 2011; SPIE
/// 2012): seconds, milliseconds per projection, error and speed-up of each. Uploads, kernels and
/// the download go one after the other, as theirs did. Errors: UNAVAILABLE (no such device; a file
/// that cannot be written), RESOURCE_EXHAUSTED (memory).
absl::Status RunLadder(const LadderOptions& options);

struct RabbitCtOptions {
  std::vector<int> sizes = {256, 512, 1024};
  int views = 496;
  int binning = 1;
  int repeats = 3;
  int images_at_once = 124;  // between two pauses of the runner
  std::string backend = "cuda";
  std::vector<std::string> methods;  // empty: all of the backend, the published among them
  /// How each method is run: "read", the runner reads images into the module's buffers; "copied",
  /// it has memory of its own; "streamed", as read, the volume going through the device in parts.
  std::vector<std::string> forms = {"read"};
  int64_t device_memory_bytes = 0;  // 0: all
  std::string trace;                // file for what the last run did when; empty: none
  std::string out;
};

/// What libisocenter_rabbitct.so does, by the runner's clock, with every method: seconds, GUPS,
/// errors against the float32 sum on the CPU. Errors: as above; NOT_FOUND (no such method).
absl::Status RunRabbitCt(const RabbitCtOptions& options);

}  // namespace isocenter::bench
