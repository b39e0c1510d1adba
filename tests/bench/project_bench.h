// Forward projectors and their adjoints alone, by any backend, model and method: volume and
// projections resident.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace isocenter::bench {

struct ProjectOptions {
  std::string backend = "cuda";
  std::vector<std::string> models = {"joseph"};
  std::vector<std::string> methods;                           // empty: all of the backend
  std::vector<std::string> cases = {"R512"};                  // as in MakeScanCase
  std::vector<std::string> directions = {"forward", "back"};  // forward, back
  int views = 0;                                              // 0: those of the case
  int batch = 0;                                              // views of one Run; 0: all
  int repeats = 5;
  std::string trajectory;  // of the case C512, as in FdkOptions
};

/// Errors: INVALID_ARGUMENT (an unknown case, too few views in the trajectory), NOT_FOUND (no such
/// model or method), UNAVAILABLE (no such device), RESOURCE_EXHAUSTED (device memory).
absl::Status RunProject(const ProjectOptions& options);

}  // namespace isocenter::bench
