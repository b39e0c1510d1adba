// FDK on the cpu backend: filter, back-projection and the whole, for several sizes, numbers of
// threads and instruction sets.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace isocenter::bench {

struct FdkOptions {
  int repeats = 5;
  std::vector<int> sizes = {256, 512};
  std::vector<int> threads = {1, 2};
  std::vector<std::string> simd;  // empty: AVX-512 and AVX2 as far as the machine has them
  int views = 0;                  // 0: 128 for volumes up to 256³, 64 above
  std::string trajectory;         // a trajectory file of a 1240x960 detector of 0.308 mm; empty:
                                  // synthetic
  std::string json;               // file to write; empty: none
};

absl::Status RunFdk(const FdkOptions& options);

}  // namespace isocenter::bench
