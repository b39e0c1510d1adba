// Whole iterative reconstructions on devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/recon/iterative/settings.h"

namespace isocenter::bench {

struct RefineOptions {
  std::string backend = "cuda";
  std::vector<std::string> cases = {"R512"};  // as in MakeScanCase
  int views = 0;                              // 0: those of the case
  std::vector<std::string> algorithms = {"os_sart"};
  std::string projector = "joseph";
  std::string forward_method, back_method;  // of that model, published ones too; empty: defaults
  bool unmatched = false;
  recon::IterativeSettings settings;  // the rest
  bool fast = false;
  bool from_zero = false;
  std::vector<int> devices = {1};
  int64_t device_memory_bytes = 0;  // of each device; 0: all
  int repeats = 5;
  double arm_seconds = 0;  // in which the frames come, evenly; 0: they are there
  std::string trajectory;  // of the case C512, as in FdkOptions
  std::string trace;       // file for a trace of the last run's iterations; empty: none
};

/// Prints seconds of the iterations alone (frames on the device, FDK done) and of the whole, with
/// peak memory. Errors: INVALID_ARGUMENT, UNAVAILABLE, RESOURCE_EXHAUSTED.
absl::Status RunRefine(const RefineOptions& options);

}  // namespace isocenter::bench
