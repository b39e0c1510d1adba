// Random faults that can be repeated: how many, and from which seed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "absl/strings/numbers.h"

namespace isocenter::testing {

/// ISOCENTER_FAULT_LONG is set by `./dev test --fault`.
inline bool IsLongCampaign() { return std::getenv("ISOCENTER_FAULT_LONG") != nullptr; }
inline int Rounds(int quick, int many) { return IsLongCampaign() ? many : quick; }

/// Draws what a test leaves to chance. ISOCENTER_FAULT_SEED repeats the draws of an earlier run; in
/// which order processes then come to run remains the system's choice.
class Chance {
 public:
  Chance() {
    const char* const given = std::getenv("ISOCENTER_FAULT_SEED");
    if (given == nullptr || !absl::SimpleAtoi(given, &seed_)) seed_ = std::random_device()();
    random_.seed(seed_);
    std::printf("seed: ISOCENTER_FAULT_SEED=%u\n", seed_);
    std::fflush(stdout);  // also when the test is ended from outside
  }
  /// One of several that an earlier one has given its seed.
  explicit Chance(uint64_t seed) : random_(seed) {}
  /// Uniform in [first, last].
  int64_t Integer(int64_t first, int64_t last) {
    return std::uniform_int_distribution<int64_t>(first, last)(random_);
  }
  bool OneIn(int64_t n) { return Integer(1, n) == 1; }

 private:
  uint32_t seed_ = 0;
  std::mt19937_64 random_;
};

}  // namespace isocenter::testing
