// Back-projection alone, by any backend and method: filtered views resident, volume resident.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace isocenter::bench {

struct BackprojectOptions {
  std::string backend = "cuda";
  std::vector<std::string> methods;  // empty: all of the backend
  std::vector<int> sizes = {512, 1024};
  int views = 128;
  int repeats = 5;
  std::string trajectory;  // as in FdkOptions
};

absl::Status RunBackproject(const BackprojectOptions& options);

}  // namespace isocenter::bench
