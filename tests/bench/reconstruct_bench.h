// Whole reconstructions on devices with memory of their own: raw frames in host memory to a volume
// in host memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace isocenter::bench {

struct ReconstructOptions {
  std::string backend = "cuda";
  std::vector<std::string> cases = {"R512", "R1024", "S512", "C512"};
  std::vector<std::string> precisions = {"exact", "fast"};
  std::string backproject_method;  // empty: the backend's default for the precision
  std::vector<int> devices = {1};
  int64_t device_memory_bytes = 0;  // 0: all
  int repeats = 5;
  std::string trajectory;  // of C512, a trajectory file of a 1240x960 detector of 0.308 mm; empty:
                           // synthetic
  std::string trace;       // file for a trace of the last run; empty: none
  std::string json;        // file to write; empty: none
  bool print_plan = false;
  bool equal_chunks = false;  // without the smaller ones that a plan begins with
  bool equal_slabs = false;   // without the smaller ones that it ends with
};

/// Errors: UNAVAILABLE (no such device), INVALID_ARGUMENT (an unknown case).
absl::Status RunReconstruct(const ReconstructOptions& options);

}  // namespace isocenter::bench
