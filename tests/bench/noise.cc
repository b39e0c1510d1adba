#include "tests/bench/noise.h"

#include <random>

namespace isocenter::bench {

std::vector<float> Noise(int64_t count) {
  std::mt19937 random(1);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random()) * 0x1p-32f - 0.5f;
  return values;
}

void FillWithCounts(std::span<uint16_t> counts, uint32_t seed) {
  uint32_t state = seed;
  for (uint16_t& count : counts) {
    state = state * 1664525u + 1013904223u;
    count = static_cast<uint16_t>(20000 + (state >> 18));
  }
}

}  // namespace isocenter::bench
