// What `isocenter-bench fan-beam` is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace isocenter::bench {

struct FanBeamOptions {
  int size = 1024;                    // pixels per axis of 500 mm
  int views = 1152;                   // over 360 degrees
  int repeats = 5;                    // timed runs; the paper made 100
  std::vector<std::string> backends;  // empty: all that have a device, but for reference
  std::vector<std::string> methods;   // back-projections; empty: all
  std::vector<int> threads;           // of the CPU; empty: 1, 2, 4 .. cores
  int devices = 1;                    // more: they share one slice, and nothing else is measured
  int realizations = 100;             // of the noise; 0: none
  double photons = 100000;            // per channel and view, unattenuated
  /// Distances of channels, as fractions of the paper's, at which the noise is looked at, too.
  std::vector<double> spacings = {0.5, 1, 2};
  bool reference = false;  // hold the forms against the float64 reference as well: minutes
  uint64_t seed = 1;
  std::string out;  // directory of tables and pictures; empty: none
};

}  // namespace isocenter::bench
