// What `isocenter-bench siddon` is asked for.
#pragma once

#include <string>
#include <vector>

namespace isocenter::bench {

struct SiddonOptions {
  std::vector<std::string> backends;  // empty: all that have a device, but for reference
  std::vector<std::string> methods;   // empty: all of the backend
  std::vector<int> threads;           // of the CPU; empty: 1 and all
  int voxels = 512;                   // per axis of a cube of 256 mm
  int pixels = 512;                   // per axis of the detector
  int views = 720;
  int repeats = 1;
  std::string out;  // directory of tables and pictures; empty: none
};

}  // namespace isocenter::bench
